"""Figure 2 of the DISCO paper: the oracle's lookahead in each round of one text."""

from __future__ import annotations

import statistics

from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import DISCO, Axis, Evidence, Figure, FigurePart, series
from decoding.papers.figures.base import NOT_READ
from decoding.replay.oracle import lookaheads

STATIC = 5


def draw(evidence: Evidence) -> FigurePart:
    rounds = [lookaheads(record) for record in evidence.study.records]
    typical = sorted(range(len(rounds)), key=lambda i: statistics.pstdev(rounds[i]))[len(rounds) // 2]
    shown, name = rounds[typical], evidence.study.recordings[typical].prompt
    points = [(number, Estimate(float(length))) for number, length in enumerate(shown, 1)]
    level = [(number, Estimate(float(STATIC))) for number in (1, len(shown))]
    return FigurePart(
        [series(f"oracle, prompt {name}", "computed", points), series(f"static, {STATIC} tokens", "computed", level)],
        f"The prompt with the median variation is shown: {min(shown)} to {max(shown)} tokens in {len(shown)} rounds. "
        "One text of another pair cannot agree round by round; the paper's point is the variation.",
    )


FIGURE = Figure(
    paper=DISCO,
    number="Figure 2",
    title="Oracle's lookahead in each round of one text",
    x=Axis("round"),
    y=Axis("tokens"),
    draw=draw,
    uses=("study",),
    unpublished=NOT_READ,
)
