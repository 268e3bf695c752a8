"""Transfer of DISCO's classifier: its worth on prompts that it was not trained on, against the best lookahead there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import DISCO, Axis, Evidence, Figure, FigurePart, series
from decoding.papers.figures.base import NOT_READ, faster
from decoding.papers.settings import STATICS
from decoding.strategies.disco import RULES


def draw(evidence: Evidence) -> FigurePart:
    return _across_sets(evidence) if evidence.also else _across_categories(evidence)


def _across_sets(evidence: Evidence) -> FigurePart:
    """As published: train on each set, judge on each."""
    found, names = evidence.transferred, evidence.names_of_sets
    shown = [
        series(
            f"DISCO, trained on {trained}",
            "replayed",
            [(number, found[trained, judged]) for number, judged in enumerate(names)],
            is_line=False,
        )
        for trained in names
    ]
    kept = min(found[trained, judged].value / found[judged, judged].value for trained in names for judged in names)
    return FigurePart(
        shown,
        f"A classifier of the other set keeps at least {100 * kept:.0f} % of the speed of a set's own. Each trains on "
        "half of its set and judges the other halves, stopping by price; the paper moves a classifier between data "
        "sets of one domain and stops at a threshold. Its points were not read.",
        names,
    )


def _across_categories(evidence: Evidence) -> FigurePart:
    names = sorted(evidence.categories)
    rows = [(number, _over_static(evidence, evidence.categories[name])) for number, name in enumerate(names)]
    shown = [
        series(f"DISCO, rule {rule}", "replayed", [(number, found[rule]) for number, found in rows], is_line=False)
        for rule in RULES
    ]
    worst = min(rows, key=lambda row: row[1]["priced"].value)
    return FigurePart(
        shown,
        f"One classifier serves every category. It is worth least on {names[worst[0]]}, with "
        f"{worst[1]['priced'].value:.2f} times the lookahead that is best there. The paper moves a classifier between "
        "data sets of one domain; the points were not read. To draw that, give a further set: --also FILE, or Further "
        f"prompts of the form. {evidence.misfit}",
        names,
    )


def _over_static(evidence: Evidence, places: Sequence[int]) -> Mapping[str, Estimate]:
    """Speed of each rule over the category's own best static lookahead."""
    costs, part = evidence.costs, evidence.part(places)
    static = max((part.play(choice) for choice in STATICS), key=costs.tokens_per_s)
    return {rule: faster(costs, found, static, "estimate") for rule, found in evidence.tuned(part).items()}


FIGURE = Figure(
    paper=DISCO,
    number="Transfer",
    title="DISCO over the best static lookahead, by prompts",
    x=Axis(""),
    y=Axis("speed / best static lookahead", "times"),
    draw=draw,
    needs=("sets to move between",),
    uses=("study", "costs", "also_study"),
    unpublished=NOT_READ,
)
