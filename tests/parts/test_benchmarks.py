"""`./drafthouse bench disco` and `bench ssd` in small: their figures are of the run, and every bar gets one."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from benchmarks import _disco_bars
from benchmarks import _ssd_figures as figures
from benchmarks._ssd_bars import OURS, race
from benchmarks._ssd_figures import Contestant
from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.measure.measurement import Measurement
from decoding.training.splits import Splits
from tests.kit.pairs import ALL, SHARED, pair, prompts
from tests.kit.worlds import some_classifier

pytestmark = pytest.mark.slow
SAMPLING = Sampling(temperature=1.0, max_new_tokens=16)
IN_TURN = {"placement": "in-turn"}
RACERS = [
    Contestant(choose("autoregressive"), 1),
    *(Contestant(choose("static", {"lookahead": k}), cores) for k in (1, 3) for cores in (1, 2)),
    *(
        Contestant(choose("ssd", {"lookahead": 4, "branches": 12, "backup": backup, **IN_TURN}), 2)
        for backup in ("neural", "ngram")
    ),
    Contestant(choose("ssd-disco", {"classifier": OURS, "cap": 4, "branches": 12, **IN_TURN}), 2),
]


@pytest.fixture(scope="module")
def raced() -> dict[str, Any]:
    ready = pair()
    ready.classifier_at = lambda name: None if name != OURS else ready.target_folder or __file__  # type: ignore
    ready.hold(OURS, some_classifier())
    comparison = Measurement(ready, prompts(2), [racer.choice for racer in RACERS], SAMPLING)
    runs, count = race(comparison, RACERS, 1, minutes=60)
    finals = {racer: runs[racer] for racer in figures.finalists(runs)}
    return {
        "chosen on": f"{count} validation prompts",
        "measured on": f"{count} test prompts",
        "repeats": 1,
        "sweep": figures.sweep(runs),
        **figures.measured(finals, runs),
    }


def test_it_has_a_figure_for_every_bar_and_every_accounting_of_ssd(raced: dict[str, Any]) -> None:
    words = " ".join(bar["what"] for bar in raced["bars"])
    for what in ("one core", "hit rate of ssd", "request to answer", "12 branches of up to 4", "both cores"):
        assert what in words
    assert [row["strategy"].partition(":")[0] for row in raced["accountings"]] == ["ssd", "ssd-disco"]
    for row in raced["accountings"]:
        assert row["one core, the other idle"]["static"].endswith("1 core")
        assert row["both cores"]["static"].endswith("2 cores")
        assert len(row["tokens_per_s_per_core"]) == 3


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
