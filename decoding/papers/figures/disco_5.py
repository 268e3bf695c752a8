"""In place of Figure 5 of the DISCO paper, which could not be read: the oracle's mean lookahead on different kinds of
prompts."""

from __future__ import annotations

from decoding.papers.figure import DISCO, Axis, Evidence, Figure, FigurePart, series
from decoding.papers.figures.base import NOT_SEEN
from decoding.papers.figures.disco_3 import by_progress
from decoding.replay.oracle import lookaheads

MOST = 6  # categories, the largest first


def draw(evidence: Evidence) -> FigurePart:
    rounds = [lookaheads(record) for record in evidence.study.records]
    largest = sorted(evidence.categories.items(), key=lambda item: -len(item[1]))[:MOST]
    shown = [series(name, "computed", [*by_progress([rounds[i] for i in places])]) for name, places in largest]
    counts = ", ".join(f"{name} {len(places)}" for name, places in largest)
    return FigurePart(
        shown,
        f"The paper has four data sets; we compare categories of one prompt set ({counts} prompts). Fewer than four "
        "prompts of a category have no interval.",
    )


FIGURE = Figure(
    paper=DISCO,
    number="Figure 5",
    title="Oracle's mean lookahead on different kinds of prompts",
    x=Axis("progress through the text", "share"),
    y=Axis("tokens"),
    draw=draw,
    needs=("several categories",),
    uses=("study",),
    unpublished=NOT_SEEN,
)
