"""Figure 3 of the DISCO paper: the oracle's mean lookahead from a text's first round to its last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from decoding.papers.base import NOT_READ
from decoding.replay.oracle import BINS, lookaheads
from decoding.reproduce.bootstrap import Estimate, estimate
from decoding.reproduce.figure import DISCO, Axis, Drawn, Figure, series

if TYPE_CHECKING:
    from decoding.reproduce.evidence import Evidence

Rounds = Sequence[Sequence[int]]


def draw(evidence: Evidence) -> Drawn:
    rounds = [lookaheads(record) for record in evidence.study.records]
    points = [*by_progress(rounds)]
    means = [found.value for _, found in points]
    return Drawn(
        [series("this pair", "computed", points)],
        f"The mean of a twentieth of the text lies between {min(means):.1f} and {max(means):.1f} tokens here. The "
        "paper averages over Alpaca; our prompts are others, and so few that the line is rough.",
    )


def by_progress(rounds: Rounds) -> Iterator[tuple[float, Estimate]]:
    """Mean lookahead in each twentieth of the rounds, where there are rounds."""
    for number in range(BINS):
        if _within(rounds, number):
            mean = estimate(rounds, lambda part, n=number: _mean(_within(part, n)))  # type: ignore[misc]
            yield (number + 0.5) / BINS, mean


def _within(rounds: Rounds, number: int) -> list[int]:
    return [n for one in rounds for at, n in enumerate(one) if BINS * at // len(one) == number]


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else float("nan")


FIGURE = Figure(
    slug="disco-3",
    paper=DISCO,
    number="Figure 3",
    title="Oracle's mean lookahead over the normalised round index",
    x=Axis("progress through the text", "share"),
    y=Axis("tokens"),
    draw=draw,
    uses=("study",),
    unpublished=NOT_READ,
    recipe=("./drafthouse oracle {asked}",),
)
