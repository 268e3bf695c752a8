"""Figure 4 of the SSD paper, hits: a uniform and a geometric fan-out by temperature."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, published, series
from decoding.papers.figures.base import BUDGET, LOOKAHEAD, geometric, hit_rate, played, uniform
from decoding.papers.settings import TEMPERATURES
from decoding.words import signed

SOURCE = "digitised from Figure 4 of arXiv 2603.03251v1; branches not given"
EVEN, SHAPED = (0.847, 0.834, 0.783, 0.582), (0.861, 0.851, 0.812, 0.633)


def draw(evidence: Evidence) -> FigurePart:
    even, shaped = [], []
    for temperature in TEMPERATURES:
        outcomes = evidence.temperatures[temperature]
        even.append((temperature, hit_rate(played(outcomes, uniform(BUDGET // (LOOKAHEAD + 1))))))
        shaped.append((temperature, hit_rate(played(outcomes, geometric(outcomes)))))
    gains = [s.value - e.value for (_, e), (_, s) in zip(even, shaped, strict=True)]
    return FigurePart(
        [series("ours, uniform", "computed", even), series("ours, geometric", "computed", shaped)],
        _why(gains),
    )


def _why(gains: Sequence[float]) -> str:
    return (
        f"With {BUDGET} branches of {LOOKAHEAD} tokens the geometric fan-out changes hits by {signed(100 * gains[0])} "
        f"points at temperature 0 and {signed(100 * gains[-1])} at 1, against +1.4 and +5.1 in the paper. Hits fall "
        "faster with the temperature where draft and target differ more."
    )


FIGURE = Figure(
    paper=SSD,
    number="Figure 4",
    title="Hit rate of a uniform and a geometric fan-out",
    x=Axis("temperature"),
    y=Axis("hit rate", "share"),
    draw=draw,
    uses=("greedy", "temperatures"),
    published=(
        published("70B/1B, uniform", [*zip(TEMPERATURES, EVEN, strict=True)], "Pd", SOURCE),
        published("70B/1B, geometric", [*zip(TEMPERATURES, SHAPED, strict=True)], "Pd", SOURCE),
    ),
)
