"""SSD's benchmark on a pair of tables, with the draft in turn: the same code but for the second core."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks import _ssd_figures as figures
from benchmarks._ssd_bars import OURS, race
from benchmarks._ssd_figures import Contestant
from benchmarks.ssd import main
from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.measure.comparison import Measurement
from tests.kit.pairs import pair, prompts
from tests.kit.worlds import some_classifier

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
def found() -> dict[str, Any]:
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


def test_it_has_a_figure_for_every_bar_and_every_accounting(found: dict[str, Any]) -> None:
    words = " ".join(bar["what"] for bar in found["bars"])
    for what in ("one core", "hit rate of ssd", "request to answer", "12 branches of up to 4", "both cores"):
        assert what in words
    assert [row["strategy"].partition(":")[0] for row in found["accountings"]] == ["ssd", "ssd-disco"]
    for row in found["accountings"]:
        assert row["one core, the other idle"]["static"].endswith("1 core")
        assert row["both cores"]["static"].endswith("2 cores")
        assert len(row["tokens_per_s_per_core"]) == 3


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["--limit", "0"], "--limit must be at least 1"),
        (["--classifier", "/nowhere"], "classifier /nowhere is not there"),
    ],
)
def test_what_cannot_be_run_is_refused_in_words(
    wrong: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["ssd", "--quick", *wrong])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert words in capsys.readouterr().err
