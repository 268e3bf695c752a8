"""Figure 3 of the DISCO paper: the oracle's mean lookahead from a text's first round to its last."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence

from decoding.papers.bootstrap import Estimate, estimate
from decoding.papers.figure import DISCO, Axis, Evidence, Figure, FigurePart, series
from decoding.papers.figures.base import NOT_READ
from decoding.replay.oracle import BINS, lookaheads

Rounds = Sequence[Sequence[int]]


def draw(evidence: Evidence) -> FigurePart:
    rounds = [lookaheads(record) for record in evidence.study.records]
    points = [*by_progress(rounds)]
    means = [found.value for _, found in points]
    return FigurePart(
        [series("this pair", "computed", points)],
        f"The mean of a twentieth of the text lies between {min(means):.1f} and {max(means):.1f} tokens here. The "
        f"paper averages over Alpaca, and we over {len(rounds)} other prompts.",
    )


def by_progress(rounds: Rounds) -> Iterator[tuple[float, Estimate]]:
    """Mean lookahead in each twentieth of the rounds, over the prompts that have rounds there."""
    for number in range(BINS):
        inside = [found for one in rounds if (found := _within([one], number))]
        if inside:
            yield (number + 0.5) / BINS, estimate(inside, _mean)


def _within(rounds: Rounds, number: int) -> list[int]:
    return [n for one in rounds for at, n in enumerate(one) if BINS * at // len(one) == number]


def _mean(part: Rounds) -> float:
    return statistics.fmean(length for one in part for length in one)


FIGURE = Figure(
    paper=DISCO,
    number="Figure 3",
    title="Oracle's mean lookahead over the normalised round index",
    x=Axis("progress through the text", "share"),
    y=Axis("tokens"),
    draw=draw,
    uses=("study",),
    unpublished=NOT_READ,
)
