"""What `./drafthouse bench disco` measures, small: its figures are of the run, and every bar gets one."""

from __future__ import annotations

import json
import math

import pytest

from benchmarks import disco
from decoding.disco.making import Material
from tests.decoding.test_comparison import pair
from tests.decoding.test_planning import ALL, SHARED, prompts


def test_every_bar_has_a_figure_from_prompts_that_nothing_was_tuned_on(capsys: pytest.CaptureFixture[str]) -> None:
    result = disco.measure(pair(), Material.of(ALL), prompts(6, "other", 9), SHARED, limit=6, repeats=1)
    json.dumps(result)
    measured = {row["label"]: row["measured"] for row in result["settings"]}
    assert measured["autoregressive"] == 1.0
    assert {"heuristic:5", "oracle:20", "disco:priced,classifier=ours", "disco:threshold,classifier=ours"} < set(
        measured
    )
    bars = {bar["what"]: bar for bar in result["bars"]}
    assert len(bars) == 7
    assert all(math.isfinite(bar["figure"]) for bar in bars.values())
    assert bars["texts that diverge"]["figure"] == 0
    disco.show(result, "tables")
    told = capsys.readouterr().out
    assert all(what in told for what in bars)
