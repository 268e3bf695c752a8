"""In place of Figure 4 of the DISCO paper, which could not be read: how often the oracle takes each lookahead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from decoding.papers.bootstrap import estimate
from decoding.papers.figure import DISCO, Axis, Evidence, Figure, FigurePart, series
from decoding.papers.figures.base import NOT_SEEN
from decoding.replay.oracle import lookaheads

LONGEST = 20  # all that is longer counts as this


def share_of(rounds: Sequence[Sequence[int]], length: int) -> float:
    counted = Counter(min(n, LONGEST) for one in rounds for n in one)
    return counted[length] / max(1, counted.total())


def draw(evidence: Evidence) -> FigurePart:
    rounds = [lookaheads(record) for record in evidence.study.records]
    points = [(n, estimate(rounds, lambda part, n=n: share_of(part, n))) for n in range(LONGEST + 1)]  # type: ignore[misc]
    none = points[0][1].value
    return FigurePart(
        [series("this pair", "computed", points)],
        "The shape depends on how well the draft fits: here the target refuses the first drafted token in "
        f"{100 * none:.0f} % of rounds. The paper's pairs and prompts are others.",
    )


FIGURE = Figure(
    paper=DISCO,
    number="Figure 4",
    title="Rounds by the oracle's lookahead",
    x=Axis(f"oracle's lookahead, tokens ({LONGEST}: or more)"),
    y=Axis("share of rounds", "share"),
    draw=draw,
    uses=("study",),
    unpublished=f"{NOT_SEEN} The paper reports a high variance across rounds.",
)
