"""Figure 5 of the SSD paper, right half: Saguaro sampling trades acceptance for hits."""

from __future__ import annotations

from decoding.papers.bootstrap import estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Point, Series
from decoding.papers.figures.base import acceptance, hit_rate, played, uniform
from decoding.papers.settings import HELD_BACK

PAPER = (("1", 0.616, 0.799), ("about 0.5", 0.637, 0.784), ("about 0.08", 0.720, 0.688), ("about 0.04", 0.742, 0.645),
         ("about 0", 0.802, 0.517), ("0", 0.806, 0.483))  # fmt: skip


def draw(evidence: Evidence) -> FigurePart:
    found = evidence.constants
    points = []
    for constant, outcomes in found.items():
        accepted = estimate(outcomes, acceptance)
        hits = hit_rate(played(outcomes, uniform(HELD_BACK)))
        points.append(Point(hits.value, accepted.value, accepted.low, accepted.high, f"C = {constant:g}"))
    first, last = points[0], points[-1]
    return FigurePart(
        [Series("ours, temperature 1", "computed", points)],
        f"From C = 1 to nearly 0 hits rise from {100 * first.x:.0f} % to {100 * last.x:.0f} % here and acceptance "
        f"falls from {100 * first.y:.0f} % to {100 * last.y:.0f} %. Temperature and fan-out of the paper's curve are "
        f"not given; ours are 1 and {HELD_BACK}.",
    )


FIGURE = Figure(
    paper=SSD,
    number="Figure 5, right",
    title="Hits against acceptance as Saguaro's constant falls from 1 to 0",
    x=Axis("hit rate", "share"),
    y=Axis("acceptance of a drafted token", "share"),
    draw=draw,
    uses=("constants",),
    published=(
        Series(
            "the paper",
            "published",
            [Point(hits, accepted, label=f"C = {constant}") for constant, hits, accepted in PAPER],
            "Pd",
            "digitised from Figure 5 of arXiv 2603.03251v1; C from the colour bar, coarse",
        ),
    ),
)
