"""DISCO's classifier: its quality, and its worth on prompts that it was not trained on."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from decoding.papers.bootstrap import Estimate, estimate
from decoding.papers.figure import DISCO, Axis, Evidence, Figure, FigurePart, series
from decoding.papers.figures.base import NOT_READ, faster
from decoding.papers.settings import STATICS
from decoding.strategies.disco import RULES

BINS = 10
Judged = Sequence[Sequence[tuple[float, float]]]  # by prompt: estimate and verdict of each token


def f1(judged: Judged) -> float:
    """F1 of "accepted" at an estimate of 0.5."""
    pairs = [pair for one in judged for pair in one]
    right = sum(accepted for said, accepted in pairs if said >= 0.5)
    both = sum(said >= 0.5 for said, _ in pairs) + sum(accepted for _, accepted in pairs)
    return 2 * right / both if both else 0.0


def quality_of(evidence: Evidence) -> FigurePart:
    judged = evidence.judged
    quality, tokens = estimate(judged, f1), sum(map(len, judged))
    points = [*_reliability(judged)]
    accepted = sum(verdict for one in judged for _, verdict in one) / max(1, tokens)
    interval = "" if quality.low is None else f" ({quality.low:.3f} to {quality.high:.3f})"
    return FigurePart(
        [
            series("this pair's classifier", "computed", points),
            series("perfect", "theory", [(0.0, Estimate(0.0)), (1.0, Estimate(1.0))]),
        ],
        f"F1 is {quality.value:.3f}{interval} on {tokens:,} judged tokens. The paper's F1 values could not be read; "
        f"they would differ, because F1 follows from how often a pair agrees: {100 * accepted:.0f} % of these. "
        f"{evidence.misfit}",
    )


def _reliability(judged: Judged) -> Iterator[tuple[float, Estimate]]:
    for number in range(BINS):
        inside = [found for one in judged if (found := [pair for pair in one if _bin(pair[0]) == number])]
        if inside:
            yield statistics.fmean(said for one in inside for said, _ in one), estimate(inside, _share)


def _share(part: Judged) -> float:
    return statistics.fmean(accepted for one in part for _, accepted in one)


def _bin(said: float) -> int:
    return min(BINS - 1, int(said * BINS))


def transfer(evidence: Evidence) -> FigurePart:
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
        "data sets of one domain; the points were not read. {evidence.misfit}",
        names,
    )


def _over_static(evidence: Evidence, places: Sequence[int]) -> Mapping[str, Estimate]:
    """Speed of each rule over the category's own best static lookahead."""
    costs, part = evidence.costs, evidence.part(places)
    static = max((part.play(choice) for choice in STATICS), key=costs.tokens_per_s)
    return {rule: faster(costs, found, static, "estimate") for rule, found in evidence.tuned(part).items()}


FIGURES = (
    Figure(
        slug="disco-classifier",
        paper=DISCO,
        number="Classifier",
        title="Share of tokens accepted, by the classifier's estimate",
        x=Axis("estimate", "share"),
        y=Axis("accepted", "share"),
        draw=quality_of,
        needs=("a classifier",),
        uses=("study",),
        unpublished=NOT_READ,
    ),
    Figure(
        slug="disco-transfer",
        paper=DISCO,
        number="Transfer",
        title="DISCO over the best static lookahead, by prompts",
        x=Axis(""),
        y=Axis("speed / best static lookahead", "times"),
        draw=transfer,
        needs=("a classifier", "several categories"),
        uses=("study", "costs"),
        unpublished=NOT_READ,
    ),
)
