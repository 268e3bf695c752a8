"""Theorem 17 of the SSD paper: from which batch size on random tokens are the better backup."""

from __future__ import annotations

import math
from collections.abc import Sequence

from decoding.papers.batches import ByBatch
from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Point, Series, published, series
from decoding.papers.figures.base import NOT_RUN, Formula, by_batch
from decoding.papers.outcomes import total
from decoding.papers.settings import BATCHES
from decoding.trace.theory import critical_batch

FAST, NEURAL = (249, 244, 237, 207, 170), (256, 214, 186, 160, 135)


def draw(evidence: Evidence) -> FigurePart:
    shown = [series("ours", each.origin, [(batch, _ratio(each, batch)) for batch in BATCHES])
             for each in by_batch(evidence)]  # fmt: skip
    formula = Formula(evidence, evidence.greedy)
    both = [formula.tuned(1, is_random=is_random) for is_random in (False, True)]
    critical = critical_batch(*(formula.speculation(way, total(formula.tallies(way))) for way in both))
    return FigurePart(shown, _why(critical, *shown))


def _ratio(each: ByBatch, batch: int) -> Estimate:
    """The fastest with one backup over the fastest with the other."""
    return each.ratio(each.ahead(batch, "neural"), each.ahead(batch, "random"))


def _why(critical: float, *shown: Series) -> str:
    sources = ("By the formula random tokens win", "by the simulator", "in the runs")
    points = "; ".join(f"{words} {_where(each.points)}" for words, each in zip(sources, shown, strict=False))
    left_out = "" if shown[2:] else f"{NOT_RUN} "
    return (
        f"{points}; in the paper from 2 texts on. At prices of one text alone, b* is {_batch(critical)}. "
        f"{left_out}It depends on what a draft costs beside a verification and on the hit rate "
        "under each backup."
    )


def _where(points: Sequence[Point]) -> str:
    """Batch sizes at which random tokens win."""
    won = [point.x for point in points if point.y < 1]
    if not won:
        return "at no batch size"
    if len(won) > 1 and won == [point.x for point in points][-len(won) :]:
        return f"from {_batch(won[0])} on"
    names = [f"{batch:g}" for batch in won]
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)
    return f"with {listed} text{'s' * (won != [1])}"


def _batch(texts: float) -> str:
    return "beyond any batch" if math.isinf(texts) else f"{math.ceil(texts)} text{'s' * (texts > 1)}"


FIGURE = Figure(
    paper=SSD,
    number="Theorem 17",
    title="Speed with the model as backup over random tokens",
    x=Axis("texts in the batch", log=True),
    y=Axis("model / random tokens", "times"),
    draw=draw,
    uses=("greedy", "ran_ssd", "joint", "ran_together"),
    published=(
        published(
            "70B/1B, fan-out 1",
            [(b, n / f) for b, n, f in zip(BATCHES, NEURAL, FAST, strict=True)],
            "Pd",
            "digitised from Figure 6 of arXiv 2603.03251v1",
        ),
    ),
)
