"""`./drafthouse bench disco` in small: its figures are of the run, and every bar gets one."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from benchmarks import _disco_bars, disco
from decoding.training.splits import Splits
from tests.kit.pairs import ALL, SHARED, pair, prompts
from worker.terminal.ending import ended

pytestmark = pytest.mark.slow


def test_every_bar_has_a_figure_from_prompts_that_nothing_was_tuned_on(capsys: pytest.CaptureFixture[str]) -> None:
    material = Splits.of(ALL)
    few = Splits(material.training, material.validation, material.test[:6])
    result = _disco_bars.measure(pair(), few, prompts(6, "other", 9), SHARED, repeats=1)
    json.dumps(result)
    measured = {row["label"]: row["measured"] for row in result["settings"]}
    assert measured["autoregressive"] == 1.0
    assert {"heuristic:5", "oracle:20", "disco:priced,classifier=ours", "disco:threshold,classifier=ours"} < set(
        measured
    )
    bars = {bar["what"]: bar for bar in result["bars"]}
    assert len(bars) == 8
    assert all(math.isfinite(bar["figure"]) for bar in bars.values())
    assert bars["texts that diverge"]["figure"] == 0
    _disco_bars.show(result, "tables")
    told = capsys.readouterr().out
    assert all(what in told for what in bars)


def test_what_cannot_be_measured_is_told_in_a_sentence_and_writes_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    result = tmp_path / "result.json"
    for slip, sentence in (
        (["--colour", "red"], "Unrecognized arguments"),
        (["--repeats", "0"], "not a whole number from 1 up"),
        (["--prompts", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["--temperature", "11"], "temperature"),
        (["--other", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["--target", str(tmp_path)], "Models of your own need prompts"),
    ):
        assert ended(disco.run_all, [*slip, "--json", str(result)]) == 2
        assert sentence in capsys.readouterr().err
    assert not result.exists()
