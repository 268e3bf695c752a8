"""Figure 4 of the SSD paper, speed: SSD over ordinary speculative decoding by temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.papers.base import Clock, Race
from decoding.reproduce.figure import SSD, Axis, Drawn, Figure, published, series
from decoding.reproduce.settings import BRANCHES_EACH, TEMPERATURES

if TYPE_CHECKING:
    from decoding.reproduce.evidence import Evidence

SOURCE = "digitised from Figure 4 of arXiv 2603.03251v1: tokens/s over those of SD"
EVEN = (246 / 161, 222 / 150, 195 / 138, 137 / 113)
SHAPED = (248 / 161, 226 / 150, 200 / 138, 143 / 113)


def draw(evidence: Evidence) -> Drawn:
    points, hits = [], []
    for temperature in TEMPERATURES:
        race = Race(Clock(evidence), evidence.outcomes(temperature))
        ours, plain = race.tuned(BRANCHES_EACH), race.tuned(0)
        points.append((temperature, race.ratio(ours, plain)))
        hits.append((ours.way.lookahead, plain.way.lookahead))
    share = evidence.alone.draft / evidence.alone.verify(1)
    ahead, plain_k = hits[0]
    return Drawn(
        [series("ours, uniform", "theory", points)],
        f"Theorem 7 at prices measured here; SSD drafts {ahead} token{'s' * (ahead != 1)} at temperature 0 "
        f"and SD {plain_k}, each its best. A drafted token takes {100 * share:.0f} % of a verification here and some "
        "11 % in the paper, and extra rows and branches cost time on our device.",
    )


FIGURE = Figure(
    slug="ssd-4-speed",
    paper=SSD,
    number="Figure 4",
    title="Speed of SSD over ordinary speculative decoding",
    x=Axis("temperature"),
    y=Axis("SSD / SD", "times"),
    draw=draw,
    uses=("greedy", "ran ssd", "temperatures"),
    published=(
        published("70B/1B, uniform", [*zip(TEMPERATURES, EVEN, strict=True)], "Pd", SOURCE),
        published("70B/1B, geometric", [*zip(TEMPERATURES, SHAPED, strict=True)], "Pd", SOURCE),
    ),
    recipe=("./drafthouse bench ssd",),
)
