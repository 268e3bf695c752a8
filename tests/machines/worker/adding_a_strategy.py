"""Run by test_adding_a_strategy.py, where `one-more` of docs/extending.md is one of the strategies."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from django.test import Client

from decoding.choice import choose
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco.recording import record
from decoding.prices.cost_model import Counts
from decoding.prices.fit import counted
from decoding.prices.machine_card import published
from decoding.replay import projecting
from decoding.replay.planning import RecordedSet, predict, study
from tests.golden.documents import COSTS
from tests.kit.models import LLAMA, save
from tests.kit.pairs import pair as small_pair
from tests.kit.pairs import prompts as small_prompts
from tests.kit.worlds import World
from webapp.accounts.models import User
from webapp.comparisons.report import report
from webapp.core.looks import LooksFinder
from worker.terminal.arguments import catalogue
from worker.terminal.compare import main

MINE, ALONE = choose("one-more", {"cap": 5}), choose("autoregressive")
SAMPLING = Sampling(temperature=0.8, max_new_tokens=80)


def spell(tokens) -> str:
    """Every third token breaks the line."""
    return "".join("\n" if token % 3 == 0 else "x" for token in tokens)


def test_its_text_is_the_targets_and_a_replay_counts_what_its_live_runs_did() -> None:
    live, recordings = Counts(), []
    for seed in range(8):
        world = World.of_tables(9, seed, noise=0.7, words=spell)
        decoded, recorder = world.run(MINE, [3, 1], SAMPLING, seed)
        assert decoded == world.run(ALONE, [3, 1], SAMPLING, seed)[0]
        live.add(counted(recorder.events))
        with torch.inference_mode():
            recordings.append(
                record(
                    "p", [3, 1], decoded.tokens, draft=world.draft, dice=dice_for(SAMPLING, 9, seed),
                    end_tokens=(), max_new_tokens=SAMPLING.max_new_tokens,
                )
            )  # fmt: skip
    assert RecordedSet(recordings, spell).play(MINE) == live
    copies = live.target_passes - live.rounds[0] - live.drafts
    assert min(copies, live.trees, live.draft_passes) > 3 and max(live.rounds) > 3


def test_it_is_planned_and_projected_onto_other_machines() -> None:
    recorded = study(small_pair(), small_prompts(4), Sampling(max_new_tokens=20), tails=True)
    rows = predict(recorded, COSTS)
    assert [row.choice.params["cap"] for row in rows if row.choice.strategy == "one-more"] == [*range(2, 9)]
    material = projecting.ProjectionInputs.of(recorded, small_pair().vocab, None)
    assert material.speed(MINE, published()["llama-70b-1b-h100"], 1) > 0


def test_the_terminal_runs_it_for_one_user_and_for_eight(tmp_path: Path, capsys) -> None:
    save(tmp_path / "target", "llama", **LLAMA)
    save(tmp_path / "draft", "llama", **{**LLAMA, "num_hidden_layers": 1})
    (tmp_path / "prompts.txt").write_text("".join(f"w{n} w{n + 1} w{n}\n" for n in range(1, 9)))
    files = [str(part) for role in ("target", "draft") for part in (f"--{role}", tmp_path / role)]
    files += ["--prompts", str(tmp_path / "prompts.txt"), "--json", str(tmp_path / "result.json")]
    asked = ["--max-new-tokens", "8", "--concurrency", "1,8", "--strategies", "autoregressive,one-more:3"]
    assert main([*files, *asked]) == 0
    rows = {row["label"]: row for row in json.loads((tmp_path / "result.json").read_text())["strategies"]}
    assert {"one-more:3", "one-more:3 @8"} <= rows.keys()
    assert all(row["audit"]["identical"] + row["audit"]["tie"] == 8 for row in rows.values())
    assert "▬" in capsys.readouterr().out and "one-more" in catalogue()


def test_the_service_runs_it_shows_it_and_answers_what_if(launch, make_worker) -> None:
    asked = [{"strategy": "one-more", "params": {"cap": n}} for n in (3, 6)]
    comparison = launch(texts=6, strategies=[*asked, {"strategy": "static", "params": {"lookahead": 3}}])
    make_worker().look()
    comparison.job.refresh_from_db()
    assert comparison.job.state == "succeeded", comparison.job.reason
    labels = [row["label"] for row in report(comparison)["strategies"]]
    assert labels == ["autoregressive", "one-more:3", "one-more:6", "static:3"]

    alice = Client()
    alice.force_login(User.objects.get(username="alice"))
    for users in (1, 8):
        address = f"/api/v1/comparisons/{comparison.pk}/what-if/?strategy=one-more&cap=4&users={users}"
        told = alice.get(address).json()
        assert told["simulated"] is True and told["label"].startswith("one-more:4")
    page = alice.get(f"/comparisons/{comparison.pk}/").content.decode()
    assert 'data-knobs="one-more"' in page and "#one-more" in page
    assert 'value="one-more"' in alice.get("/comparisons/new/").content.decode()
    found = LooksFinder()
    assert "M-8,-3H8V3H-8Z" in Path(found.find("marks.svg")).read_text()
    assert ".s-one-more" in Path(found.find("css/strategies.css")).read_text()
