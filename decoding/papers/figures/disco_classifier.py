"""Quality of DISCO's classifier: is a token accepted as often as it says, and how good are its yes and no?"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from decoding.papers.bootstrap import Estimate, estimate
from decoding.papers.figure import DISCO, Axis, Evidence, Figure, FigurePart, series
from decoding.papers.figures.base import NOT_READ

BINS = 10
Judged = Sequence[Sequence[tuple[float, float]]]  # by prompt: estimate and verdict of each token


def f1(judged: Judged) -> float:
    """F1 of "accepted" at an estimate of 0.5."""
    pairs = [pair for one in judged for pair in one]
    right = sum(accepted for said, accepted in pairs if said >= 0.5)
    both = sum(said >= 0.5 for said, _ in pairs) + sum(accepted for _, accepted in pairs)
    return 2 * right / both if both else 0.0


def draw(evidence: Evidence) -> FigurePart:
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


FIGURE = Figure(
    paper=DISCO,
    number="Classifier",
    title="Share of tokens accepted, by the classifier's estimate",
    x=Axis("estimate", "share"),
    y=Axis("accepted", "share"),
    draw=draw,
    needs=("a classifier",),
    uses=("study",),
    unpublished=NOT_READ,
)
