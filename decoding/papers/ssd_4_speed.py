"""Figure 4 of the SSD paper, speed: SSD over ordinary speculative decoding by temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.papers.base import Clock, Race, law
from decoding.reproduce.figure import SSD, Axis, Drawn, Figure, published, series
from decoding.reproduce.settings import BRANCHES_EACH, TEMPERATURES
from decoding.words import signed

if TYPE_CHECKING:
    from decoding.reproduce.evidence import Evidence

SOURCE = "digitised from Figure 4 of arXiv 2603.03251v1: tokens/s over those of SD"
EVEN = (246 / 161, 222 / 150, 195 / 138, 137 / 113)
SHAPED = (248 / 161, 226 / 150, 200 / 138, 143 / 113)
PAPER = [100 * (shaped / even - 1) for even, shaped in zip(EVEN, SHAPED, strict=True)]


def draw(evidence: Evidence) -> Drawn:
    even, shaped, lookaheads = [], [], []
    for temperature in TEMPERATURES:
        outcomes = evidence.outcomes(temperature)
        race = Race(Clock(evidence), outcomes)
        ours, plain = race.tuned(BRANCHES_EACH), race.tuned(0)
        even.append((temperature, race.ratio(ours, plain)))
        shaped.append((temperature, race.ratio(race.tuned(BRANCHES_EACH, law=law(outcomes)), plain)))
        lookaheads.append((ours.way.lookahead, plain.way.lookahead))
    share = evidence.alone.draft / evidence.alone.verify(1)
    ahead, plain_k = lookaheads[0]
    gains = [100 * (s.value / e.value - 1) for (_, e), (_, s) in zip(even, shaped, strict=True)]
    return Drawn(
        [series("ours, uniform", "theory", even), series("ours, geometric", "theory", shaped)],
        f"Theorem 7 at prices measured here; SSD drafts {ahead} token{'s' * (ahead != 1)} at temperature 0 "
        f"and SD {plain_k}, each its best. The geometric fan-out changes the speed by {signed(gains[0])} % "
        f"there and {signed(gains[-1])} % at 1, against {signed(PAPER[0])} and {signed(PAPER[-1])} in the paper. "
        f"A drafted token takes {100 * share:.0f} % of a verification here and some 11 % in the paper, and extra rows "
        "and branches cost time on our device.",
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
