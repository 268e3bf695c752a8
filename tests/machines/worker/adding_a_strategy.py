"""Run by test_adding_a_strategy.py, where `one-more` of docs/extending.md is one of the strategies."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import torch
from django.test import Client

from decoding.choice import choose
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco.recording import record
from decoding.prices.counts import Counts
from decoding.prices.fit import counted
from decoding.prices.machine_card import published
from decoding.replay import planning_at_load, projecting
from decoding.replay.at_load import play
from decoding.replay.planning import RecordedSet, predict, study
from decoding.replay.planning_at_load import predict_at_load
from decoding.replay.player import replay
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
GREEDY = Sampling(max_new_tokens=20)


def spell(tokens) -> str:
    """Every third token breaks the line."""
    return "".join("\n" if token % 3 == 0 else "x" for token in tokens)


@pytest.fixture(scope="module")
def recorded():
    return study(small_pair(), small_prompts(4), GREEDY, tails=True)


@pytest.fixture(scope="module")
def lived():
    """Texts that it wrote, with what was counted, and their recordings."""
    found, recordings = Counts(), []
    for seed in range(8):
        world = World.of_tables(9, seed, noise=0.7, words=spell)
        decoded, live = world.run(MINE, [3, 1], SAMPLING, seed)
        assert decoded == world.run(ALONE, [3, 1], SAMPLING, seed)[0]
        found.add(counted(live.events))
        with torch.inference_mode():
            recordings.append(
                record(
                    "p", [3, 1], decoded.tokens, draft=world.draft, dice=dice_for(SAMPLING, 9, seed),
                    end_tokens=(), max_new_tokens=SAMPLING.max_new_tokens,
                )
            )  # fmt: skip
    return found, RecordedSet(recordings, spell)


def test_its_text_is_the_targets_and_a_replay_counts_what_its_live_runs_did(lived) -> None:
    live, study = lived
    assert study.play(MINE) == live
    copies = live.target_passes - live.rounds[0] - live.drafts
    assert min(copies, live.trees, live.draft_passes) > 3 and max(live.rounds) > 3


def test_what_its_model_must_read_after_copies_is_paid_for_at_load_as_for_one_user(lived) -> None:
    texts = lived[1].texts()
    ends = [
        sum(request.end for request in play(texts, MINE.sources(), dataclasses.replace(COSTS, late=late), 1).requests)
        for late in (0.0, 1.0)
    ]
    assert ends[1] - ends[0] == pytest.approx(replay(texts, MINE.sources()).late_rows) and ends[1] > ends[0]


def test_the_planner_prices_its_grid_for_one_user_and_for_eight(recorded) -> None:
    rows = predict(recorded, COSTS)
    assert [row.choice.params["cap"] for row in rows if row.choice.strategy == "one-more"] == [*range(2, 9)]
    together = dataclasses.replace(COSTS, steps={1: ((1, 2.0),), 8: ((8, 4.0),)})
    found = predict_at_load(planning_at_load.PlanInputs(recorded, together), [1, 8])
    assert all(any(row.choice.strategy == "one-more" for row in rows) for rows in found.values())


def test_it_is_projected_onto_other_machines(recorded) -> None:
    material = projecting.ProjectionInputs.of(recorded, small_pair().vocab, None)
    card = published()["llama-70b-1b-h100"]
    assert {"one-more"} <= material.settings().keys()
    assert material.speed(MINE, card, 1) > 0 and material.speed(MINE, card, card.batches[-1]) > 0


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
    told = alice.get(f"/api/v1/comparisons/{comparison.pk}/what-if/?strategy=one-more&cap=4").json()
    assert [point["value"] for point in told["curve"]["points"]] == [*range(1, 21)]
    simulated = {row["label"]: row["simulated"] for row in told["measured"]}
    assert simulated["one-more:3"] and simulated["one-more:6"]

    page = alice.get(f"/comparisons/{comparison.pk}/").content.decode()
    assert 'data-knobs="one-more"' in page and "#one-more" in page
    assert 'value="one-more"' in alice.get("/comparisons/new/").content.decode()
    assert "one-more" in alice.get("/api/v1/schema/").content.decode()


def test_its_mark_and_colour_are_among_the_static_files() -> None:
    found = LooksFinder()
    assert "M-8,-3H8V3H-8Z" in Path(found.find("marks.svg")).read_text()
    assert ".s-one-more" in Path(found.find("css/strategies.css")).read_text()
