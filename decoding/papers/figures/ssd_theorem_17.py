"""Theorem 17 of the SSD paper: from which batch size on random tokens are the better backup."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Point, Series, published, series
from decoding.papers.figures.base import NOT_RUN, TunedWays
from decoding.papers.outcomes import total
from decoding.papers.settings import BATCHES
from decoding.trace.theory import critical_batch

if TYPE_CHECKING:
    from decoding.papers.together import ByBatch

FAST, NEURAL = (249, 244, 237, 207, 170), (256, 214, 186, 160, 135)


def draw(evidence: Evidence) -> FigurePart:
    race = TunedWays(evidence, evidence.outcomes(0.0))
    points = []
    for batch in BATCHES:
        neural, fast = (race.tuned(1, is_random=r, batch=batch) for r in (False, True))
        points.append((batch, race.ratio(neural, fast, batch)))
    both = [race.tuned(1, is_random=r) for r in (False, True)]
    critical = critical_batch(*(race.speculation(one.way, total(one.tallies)) for one in both))
    ran = evidence.ran_together
    run = [series("ours", "measured", _ratios(ran))] if ran else []
    formula = series("ours", "theory", points)
    simulated = series("ours", "simulated", _ratios(evidence.simulated_together))
    return FigurePart([formula, simulated, *run], _why(critical, formula, simulated, run))


def _why(critical: float, formula: Series, simulated: Series, run: Sequence[Series]) -> str:
    sources = ["By the formula random tokens win", "by the simulator", *["in the runs"] * len(run)]
    points = "; ".join(
        f"{words} {_where(each.points)}" for words, each in zip(sources, [formula, simulated, *run], strict=True)
    )
    return (
        f"{points}; in the paper from 2 texts on. At prices of one text alone, b* is {_batch(critical)}. "
        f"{'' if run else f'{NOT_RUN} '}It depends on what a draft costs beside a verification and on the hit rate "
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


def _ratios(every: ByBatch) -> list[tuple[float, Estimate]]:
    """The fastest with one backup over the fastest with the other."""
    return [(batch, every.ratio(every.ahead(batch, "neural"), every.ahead(batch, "random"))) for batch in BATCHES]


FIGURE = Figure(
    slug="ssd-theorem-17",
    paper=SSD,
    number="Theorem 17",
    title="Speed with the model as backup over random tokens",
    x=Axis("texts in the batch", log=True),
    y=Axis("model / random tokens", "times"),
    draw=draw,
    uses=("greedy", "ran ssd", "joint", "together"),
    published=(
        published(
            "70B/1B, fan-out 1",
            [(b, n / f) for b, n, f in zip(BATCHES, NEURAL, FAST, strict=True)],
            "Pd",
            "digitised from Figure 6 of arXiv 2603.03251v1",
        ),
    ),
    recipe=(
        "./drafthouse compare {asked} --temperature 0 --concurrency 8 --strategies "
        "ssd:4,fanout=uniform,branches=40,backup=neural,ssd:4,fanout=uniform,branches=40,backup=random",
    ),
)
