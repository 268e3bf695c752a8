"""The papers' figures: expected outcomes equal live runs, evidence is made once, and files hold what was found."""

from __future__ import annotations

import csv
import dataclasses
import io
import runpy
import statistics
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.disco.classifier import DraftClassifier
from decoding.drafting.records import Record
from decoding.papers import bootstrap
from decoding.papers.drawing import draw, phases, phases_due
from decoding.papers.evidence import Evidence
from decoding.papers.figure import FigurePart, filled
from decoding.papers.figures import FIGURES, base, disco_classifier, disco_oracle, figures_in
from decoding.papers.files import FILES
from decoding.papers.outcomes import play
from decoding.papers.settings import of_papers
from decoding.papers.shelf import Shelf
from decoding.prices.cost_model import CostModel
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
    for seed in range(3):
        world, sampling = World.of_tables(30, seed), Sampling(max_new_tokens=60)
        text, events = lived(world, SSD, sampling, seed)
        tally, (hits, misses, accepted) = play(expected(world, text, sampling), FAN), counted(events)
        assert (tally.hits, tally.misses) == (hits, misses)
        assert tally.accepted == accepted


def test_expected_outcomes_under_the_ratio_rule_equal_the_mean_of_live_runs() -> None:
    sampling = Sampling(temperature=0.7, dice="ratio", max_new_tokens=40)
    world, live, computed = World.of_tables(12, 3), [], []
    for seed in range(80):
        text, events = lived(world, SSD, sampling, seed)
        tally = play(expected(world, text, sampling), FAN)
        live.append(counted(events))
        computed.append((tally.hits, tally.misses, tally.accepted))
    for ours, theirs in zip(zip(*computed, strict=True), zip(*live, strict=True), strict=True):
        deviation = statistics.stdev(a - b for a, b in zip(ours, theirs, strict=True)) / len(live) ** 0.5
        assert abs(statistics.mean(ours) - statistics.mean(theirs)) < 3 * deviation


def test_the_best_fan_out_is_found_where_one_branch_adds_nothing_and_the_next_much() -> None:
    hits = [[0.0, 0.1, 0.1, 0.1], [0.0, 0.0, 0.0, 0.5]]
    assert base.most_hits(hits, 3) == (0, 3)
    assert base.most_hits(hits, 2)[0] >= 1


def test_a_draft_of_a_batch_is_priced_with_what_it_takes_besides_its_steps() -> None:
    joint = CostModel({4: [(4, 0.01)]}, {4: [(4, 0.001)]}, begin=[(4, 0.002)])
    assert base.Formula(SimpleNamespace(joint=joint), ()).draft(base.Drafting(3, texts=4)) == pytest.approx(0.005)  # type: ignore[arg-type]


def test_prompts_without_a_value_in_a_bin_give_no_interval_there() -> None:
    """One prompt alone has long rounds, and one alone sure estimates."""
    bins = dict(disco_oracle.by_progress([[1, 2], [3], [1], [2], [5]]))
    assert bins[0.025].low is not None and bins[0.525].value == 2.0 and bins[0.525].low is None
    judged = [[(0.25, 1.0), (0.25, 0.0)], *[[(0.95, 1.0)]] * 4]
    [unsure, sure] = [found for _, found in disco_classifier._reliability(judged)]
    assert (unsure.value, unsure.low) == (0.5, None) and (sure.value, sure.low) == (1.0, 1.0)


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
    (package / "empty.py").touch()
    with pytest.raises(ImportError, match="lacks FIGURES"):
        figures_in(import_module("more_papers"))


def test_every_published_point_says_how_it_was_read_and_where() -> None:
    for figure in FIGURES.values():
        assert figure.published or figure.unpublished, figure.slug
        for series in figure.published:
            assert series.grade in ("P", "Pd", "A", "S2+", "S", "I") and series.source and series.points


def point(x: float, y: float, low: float | None = None, high: float | None = None) -> dict[str, object]:
    return {"x": x, "y": y, "low": low, "high": high, "label": ""}


FIGURE: dict[str, Any] = {
    "slug": "made-up", "number": "Figure 9", "title": "A (made-up) figure", "paper": {"arxiv": "2603.03251"},
    "x": {"label": "branches", "format": "number", "log": True, "names": []},
    "y": {"label": "misses", "format": "share", "log": True},
    "series": [
        {"name": "=paper", "origin": "published", "grade": "Pd", "source": "there", "is_line": True,
         "points": [point(1, 0.5), point(2, 0.25)]},
        {"name": "ours", "origin": "computed", "grade": "", "source": "", "is_line": True,
         "points": [point(1, 0.4, 0.3, 0.6), point(2, 0.0, 0.0, 0.1)]},
    ],
    "why": "Made up.", "needs": "",
}  # fmt: skip


def test_csv_holds_every_point_and_nothing_that_a_spreadsheet_computes() -> None:
    rows = list(csv.DictReader(io.StringIO(FILES["csv"](FIGURE))))
    assert [(row["series"], row["x"], row["y"], row["low"]) for row in rows] == [
        ("'=paper", "1", "0.5", ""), ("'=paper", "2", "0.25", ""),
        ("ours", "1", "0.4", "0.3"), ("ours", "2", "0.0", "0.0"),
    ]  # fmt: skip


def test_the_script_holds_its_figure_names_its_library_and_draws_svg_and_pdf_beside_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, library = FILES["py"](FIGURE), MagicMock()
    assert '# dependencies = ["matplotlib"]' in made.split("# ///")[1]
    for name in ("figure", "ticker"):
        monkeypatch.setitem(sys.modules, f"matplotlib.{name}", library)
    (tmp_path / "made-up.py").write_text(made)
    assert runpy.run_path(str(tmp_path / "made-up.py"))["FIGURE"] == FIGURE
    picture = library.Figure.return_value
    assert [call.args[0] for call in picture.savefig.call_args_list] == [
        tmp_path / "made-up.svg", tmp_path / "made-up.pdf",
    ]  # fmt: skip
    published, ours = picture.subplots.return_value.errorbar.call_args_list
    assert published.kwargs["fillstyle"] == "none" and published.args[:2] == ([1, 2], [0.5, 0.25])
    assert ours.args == ([1], [0.4], ([pytest.approx(0.1)], [pytest.approx(0.2)]))  # 0 has no place on its axis


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


def test_saguaro_sampling_moves_the_papers_residual_onto_the_cache() -> None:
    figure = FIGURES["ssd-5-toy"]
    drawn = figure.draw(SimpleNamespace())  # type: ignore[arg-type]
    mass, accepted = ({point.x: point.y for point in each.points} for each in drawn.series)
    [paper] = figure.published
    assert [(point.x, mass[point.x]) for point in paper.points] == [
        (point.x, pytest.approx(point.y)) for point in paper.points
    ]
    assert accepted[1.0] == pytest.approx(0.50 + 0.25 + 0.10 + 0.06) and accepted[0.0] == pytest.approx(0.25)
    assert mass[0.5] == pytest.approx((0.75 - 0.84 * 0.5 / 0.58) / (0.75 - 0.84 * 0.5 / 0.58 + 0.125 - 0.06 / 0.58))
    assert "to 0.6 nothing" in drawn.why and "from 0.35 to 0 all" in drawn.why


def test_figures_warn_of_a_classifier_trained_for_another_sampling_and_not_of_prices_that_they_measure() -> None:
    ready, card = pair(), {"sampling": Sampling().to_dict(), "machine": "a slow one"}
    ready.classifier_at = lambda name: Path("disco")
    ready.hold("", dataclasses.replace(some_classifier(), card=card))
    evidence = Evidence(ready, [], Sampling(temperature=0.6), Shelf())
    assert "trained with temperature 0.0" in evidence.misfit and "measured on a slow one" not in evidence.misfit
    assert dataclasses.replace(evidence, classifier_name=None).misfit == ""


def test_only_evidence_that_is_on_no_shelf_is_still_due() -> None:
    evidence, figures = evidence_of(3), [FIGURES[slug] for slug in ("disco-classifier", "disco-4", "ssd-3", "ssd-6")]
    every = phases(evidence, figures)
    assert phases_due(evidence, figures) == every and every["recording"] == 3 and "measuring prices" not in every
    for kept in ("running SSD", "running SSD, 1 at a time", "outcomes 0 1"):
        evidence.keep(kept, [])
    due = phases_due(evidence, figures)
    assert every.keys() - due.keys() == {"running SSD", "running SSD, 1 at a time", "recording at temperature 0"}
    for slug in ("disco-4", "ssd-6"):
        evidence.keep(f"figure {slug}", {})
    assert {*phases_due(evidence, figures)} == {f"recording at temperature {t}" for t in (0.3, 0.7, 1)}
    assert phases(evidence, figures) == every


def test_the_samples_of_all_figures_are_known_before_a_pair_is_loaded() -> None:
    evidence = evidence_of(12, some_classifier())
    of_all = phases(evidence, [*FIGURES.values()])
    assert sum(of_all.values()) == of_papers(StudyRecipe(12, Sampling()))
