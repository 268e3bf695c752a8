"""The papers' figures: expected outcomes equal live runs, evidence is made once, and files hold what was found."""

from __future__ import annotations

import csv
import dataclasses
import io
import statistics
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier
from decoding.drafting.records import Record
from decoding.papers import bootstrap
from decoding.papers.drawing import draw, phases
from decoding.papers.evidence import Evidence
from decoding.papers.figure import FigurePart, filled
from decoding.papers.figures import FIGURES, figures_in
from decoding.papers.files import FILES
from decoding.papers.outcomes import play
from decoding.papers.settings import of_papers
from decoding.papers.shelf import Shelf
from decoding.prompts.prompt import PromptItem
from decoding.replay.workload import StudyRecipe
from decoding.trace.events import Drafted, Event, Verified
from tests.kit.pairs import pair
from tests.kit.recordings import expected, lived
from tests.kit.worlds import World, some_classifier

LOOKAHEAD, EACH = 3, 2
FAN = (EACH,) * (LOOKAHEAD + 1)
SSD = choose("ssd", {"lookahead": LOOKAHEAD, "branches": sum(FAN), "fanout": "/".join(map(str, FAN)),
                     "backup": "neural", "placement": "in-turn"})  # fmt: skip


def evidence_of(prompts: int, classifier: DraftClassifier | None = None) -> Evidence:
    """Evidence of a machine with a second core."""
    found = Evidence(pair(), [PromptItem("p", "w1")] * prompts, Sampling(), Shelf())
    found.classifier, found.has_second_core = classifier, True  # type: ignore[misc]
    return found


def counted(events: Sequence[Event]) -> tuple[int, int, int]:
    """Hits, misses and accepted tokens."""
    drafts = [event for event in events if isinstance(event, Drafted)]
    accepted = sum(event.accepted for event in events if isinstance(event, Verified))
    return sum(d.source == "hit" for d in drafts), sum(d.source == "miss" for d in drafts), accepted


def test_greedy_outcomes_equal_a_live_run_hit_by_hit() -> None:
    for seed in range(2):
        world, sampling = World.of_tables(30, seed), Sampling(max_new_tokens=60)
        text, events = lived(world, SSD, sampling, seed)
        tally, (hits, misses, accepted) = play(expected(world, text, sampling), FAN), counted(events)
        assert (tally.hits, tally.misses) == (hits, misses)
        assert tally.accepted == accepted


def test_expected_outcomes_under_the_ratio_rule_equal_the_mean_of_live_runs() -> None:
    sampling = Sampling(temperature=0.7, dice="ratio", max_new_tokens=40)
    world, live, computed = World.of_tables(12, 3), [], []
    for seed in range(40):
        text, events = lived(world, SSD, sampling, seed)
        tally = play(expected(world, text, sampling), FAN)
        live.append(counted(events))
        computed.append((tally.hits, tally.misses, tally.accepted))
    for ours, theirs in zip(zip(*computed, strict=True), zip(*live, strict=True), strict=True):
        deviation = statistics.stdev(a - b for a, b in zip(ours, theirs, strict=True)) / len(live) ** 0.5
        assert abs(statistics.mean(ours) - statistics.mean(theirs)) < 3 * deviation


def test_a_bootstrap_interval_holds_the_value_and_narrows_with_more_prompts() -> None:
    few, many = (bootstrap.median([float(n % 7) for n in range(count)]) for count in (14, 700))
    assert few.low is not None and many.low is not None and few.high is not None and many.high is not None
    assert few.low < few.value < few.high and many.high - many.low < few.high - few.low
    assert bootstrap.median([1.0, 2.0]).low is None


def test_a_figure_is_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The example of docs/extending.md, drawn."""
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    code = page.split("## A figure of a paper")[1].split("```python\n")[1].split("```")[0]
    package = tmp_path / "more_papers"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "lengths.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    figure = figures_in(import_module("more_papers"))["lengths"]
    records = [Record.of([True] * length) for length in (3, 5, 4, 4)]
    drawn = filled(figure, figure.draw(SimpleNamespace(study=SimpleNamespace(records=records))))  # type: ignore[arg-type]
    assert [series["points"][0]["y"] for series in drawn["series"]] == [128.0, 4.0]
    assert all(make(drawn) for make in FILES.values())


def test_every_published_point_says_how_it_was_read_and_where() -> None:
    for figure in FIGURES.values():
        assert figure.published or figure.unpublished, figure.slug
        for series in figure.published:
            assert series.grade in ("P", "Pd", "A", "S2+", "S", "I") and series.source and series.points


def test_csv_holds_every_point_and_nothing_that_a_spreadsheet_computes() -> None:
    point = {"x": 2, "y": 0.5, "low": None, "high": 0.6, "label": ""}
    series = {"name": "=paper", "origin": "published", "grade": "Pd", "source": "there", "points": [point]}
    [row] = csv.DictReader(io.StringIO(FILES["csv"]({"x": {"names": []}, "series": [series]})))
    assert [row[name] for name in ("series", "x", "y", "low", "high")] == ["'=paper", "2", "0.5", "", "0.6"]


def test_a_formula_without_a_value_costs_its_figure_and_not_the_study() -> None:
    def fail(evidence: object) -> FigurePart:
        raise ZeroDivisionError("nothing is ever hit")

    broken = dataclasses.replace(FIGURES["disco-4"], slug="broken", draw=fail, uses=())
    fine = dataclasses.replace(
        FIGURES["disco-4"], slug="fine", draw=lambda evidence: FigurePart([], "It is fine."), uses=()
    )
    evidence = evidence_of(1)
    figures = draw(evidence, [broken, fine])
    found = {figure["slug"]: figure for figure in figures}
    assert "nothing is ever hit" in found["broken"]["needs"] and found["fine"]["why"] == "It is fine."
    assert evidence.shelf.kept.keys() == {"figure fine"}


def test_only_evidence_that_is_on_no_shelf_is_still_due() -> None:
    evidence, figures = evidence_of(3), [FIGURES[slug] for slug in ("disco-classifier", "disco-4", "ssd-3", "ssd-6")]

    def due() -> dict[str, int]:
        return phases(evidence, figures, evidence.shelf)

    every = phases(evidence, figures)
    assert due() == every and every["recording"] == 3 and "measuring prices" not in every
    for kept in ("samples of running SSD", "samples of running SSD, 1 at a time", "outcomes 0 1"):
        evidence.keep(kept, [])
    assert every.keys() - due().keys() == {"running SSD", "running SSD, 1 at a time", "recording at temperature 0"}
    for slug in ("disco-4", "ssd-6"):
        evidence.keep(f"figure {slug}", {})
    assert {*due()} == {f"recording at temperature {t}" for t in (0.3, 0.7, 1)}
    assert phases(evidence, figures) == every


def test_the_samples_of_all_figures_are_known_before_a_pair_is_loaded() -> None:
    evidence = evidence_of(12, some_classifier())
    of_all = phases(evidence, [*FIGURES.values()])
    assert sum(of_all.values()) == of_papers(StudyRecipe(12, Sampling()))
