"""Run by test_adding_a_strategy.py, where `line-breaks` of docs/extending.md is one of the strategies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from django.test import Client

from decoding.choice import choose
from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.disco.recording import record
from decoding.prices.fit import counted
from decoding.replay.planning import RecordedSet, predict
from tests.decoding.models import LLAMA, save
from tests.decoding.test_comparison import pair as small_pair
from tests.decoding.test_planning import prompts as small_prompts
from tests.decoding.worlds import World
from tests.golden.documents import COSTS
from webapp.accounts.models import User
from webapp.comparisons.report import report
from webapp.core.looks import LooksFinder
from worker.terminal.compare import main

MINE = choose("line-breaks", {"after": 5})
SAMPLING = Sampling(temperature=0.8, max_new_tokens=40)


def spell(tokens) -> str:
    """Every third token breaks the line."""
    return "".join("\n" if token % 3 == 0 else "x" for token in tokens)


@pytest.mark.parametrize("seed", range(4))
def test_a_replay_counts_what_a_live_run_does(seed: int) -> None:
    world = World.of_tables(14, seed, noise=0.7, words=spell)
    decoded, live = world.run(MINE, [3, 1], SAMPLING, seed)
    with torch.inference_mode():
        recording = record(
            "p", [3, 1], decoded.tokens, draft=world.draft, dice=dice_for(SAMPLING, 14, seed),
            end_tokens=(), max_new_tokens=40,
        )  # fmt: skip
    counts = RecordedSet([recording], spell).play(MINE)
    assert counts == counted(live.events)
    assert {1, 5} <= set(counts.rounds)


def test_the_planner_prices_its_grid() -> None:
    from decoding.replay.planning import study

    rows = predict(study(small_pair(), small_prompts(4), Sampling(max_new_tokens=20), tails=True), COSTS)
    assert [row.choice.params["after"] for row in rows if row.choice.strategy == "line-breaks"] == [*range(2, 9)]


def test_the_terminal_runs_it(tmp_path: Path, capsys) -> None:
    save(tmp_path / "target", "llama", **LLAMA)
    save(tmp_path / "draft", "llama", **{**LLAMA, "num_hidden_layers": 1})
    (tmp_path / "prompts.txt").write_text("w1 w2 w3\nw4 w5\n")
    files = [str(part) for role in ("target", "draft") for part in (f"--{role}", tmp_path / role)]
    files += ["--prompts", str(tmp_path / "prompts.txt"), "--json", str(tmp_path / "result.json")]
    assert main([*files, "--max-new-tokens", "8", "--strategies", "autoregressive,line-breaks:3"]) == 0
    result = json.loads((tmp_path / "result.json").read_text())
    assert [row["label"] for row in result["strategies"]] == ["autoregressive", "line-breaks:3"]
    assert "▬" in capsys.readouterr().out


def test_the_service_runs_it_shows_it_and_answers_what_if(launch, make_worker) -> None:
    asked = [{"strategy": "line-breaks", "params": {"after": n}} for n in (3, 6)]
    comparison = launch(texts=6, strategies=[*asked, {"strategy": "static", "params": {"lookahead": 3}}])
    make_worker().look()
    comparison.job.refresh_from_db()
    assert comparison.job.state == "succeeded", comparison.job.reason
    labels = [row["label"] for row in report(comparison)["strategies"]]
    assert labels == ["autoregressive", "line-breaks:3", "line-breaks:6", "static:3"]

    alice = Client()
    alice.force_login(User.objects.get(username="alice"))
    told = alice.get(f"/api/v1/comparisons/{comparison.pk}/what-if/?strategy=line-breaks&after=4").json()
    assert told["simulated"] is True and told["label"] == "line-breaks:4"
    assert [point["value"] for point in told["curve"]["points"]] == [*range(1, 21)]
    simulated = {row["label"]: row["simulated"] for row in told["measured"]}
    assert simulated["line-breaks:3"] and simulated["line-breaks:6"]

    page = alice.get(f"/comparisons/{comparison.pk}/").content.decode()
    assert 'data-knobs="line-breaks"' in page and "#line-breaks" in page
    assert 'value="line-breaks"' in alice.get("/comparisons/new/").content.decode()
    assert "line-breaks" in alice.get("/api/v1/schema/").content.decode()


def test_its_mark_and_colour_are_among_the_static_files() -> None:
    found = LooksFinder()
    assert "M-8,-3H8V3H-8Z" in Path(found.find("marks.svg")).read_text()
    assert ".s-line-breaks" in Path(found.find("css/strategies.css")).read_text()
