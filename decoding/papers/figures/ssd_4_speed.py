"""Figure 4 of the SSD paper, speed: SSD over ordinary speculative decoding by temperature."""

from __future__ import annotations

from collections.abc import Mapping

from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, published, series
from decoding.papers.figures.base import NOT_RUN, Formula, law
from decoding.papers.settings import BRANCHES_EACH, FAN_OUTS, TEMPERATURES
from decoding.words import signed

ByTemperature = Mapping[float, Mapping[str, Estimate]]
SOURCE = "digitised from Figure 4 of arXiv 2603.03251v1: tokens/s over those of SD"
EVEN = (246 / 161, 222 / 150, 195 / 138, 137 / 113)
SHAPED = (248 / 161, 226 / 150, 200 / 138, 143 / 113)
PAPER = [100 * (shaped / even - 1) for even, shaped in zip(EVEN, SHAPED, strict=True)]


def draw(evidence: Evidence) -> FigurePart:
    even, shaped, lookaheads = [], [], []
    for temperature in TEMPERATURES:
        outcomes = evidence.temperatures[temperature]
        race = Formula(evidence, outcomes)
        ours, plain = race.tuned(BRANCHES_EACH), race.tuned(0)
        even.append((temperature, race.ratio(ours, plain)))
        shaped.append((temperature, race.ratio(race.tuned(BRANCHES_EACH, law=law(outcomes)), plain)))
        lookaheads.append((ours.lookahead, plain.lookahead))
    share = evidence.single.draft(1) / evidence.single.verify(1, 1)
    ahead, plain_k = lookaheads[0]
    gains = [100 * (s.value / e.value - 1) for (_, e), (_, s) in zip(even, shaped, strict=True)]
    ran = evidence.ran_by_temperature
    return FigurePart(
        [
            series("ours, uniform", "theory", even),
            series("ours, geometric", "theory", shaped),
            *(series(f"ours, {name}, run here", "measured", _by_fan_out(ran, name)) for name in FAN_OUTS if ran),
        ],
        f"{_told(ran) if ran else NOT_RUN} Theorem 7 at prices measured here; SSD drafts {ahead} "
        f"token{'s' * (ahead != 1)} at temperature 0 and SD {plain_k}, each its best. The geometric fan-out changes "
        f"this speed by {signed(gains[0])} % there and {signed(gains[-1])} % at 1, against {signed(PAPER[0])} and "
        f"{signed(PAPER[-1])} in the paper. "
        f"A drafted token takes {100 * share:.0f} % of a verification here and some 11 % in the paper, and extra rows "
        "and branches cost time on our device.",
    )


def _by_fan_out(ran: ByTemperature, name: str) -> list[tuple[float, Estimate]]:
    return [(temperature, found[name]) for temperature, found in ran.items()]


def _told(ran: ByTemperature) -> str:
    gains = [100 * (found["geometric"].value / found["uniform"].value - 1) for found in (ran[0.0], ran[1.0])]
    return (
        f"Run here, the geometric fan-out changes the speed by {signed(gains[0])} % at temperature 0 and "
        f"{signed(gains[1])} % at 1."
    )


FIGURE = Figure(
    paper=SSD,
    number="Figure 4",
    title="Speed of SSD over ordinary speculative decoding",
    x=Axis("temperature"),
    y=Axis("SSD / SD", "times"),
    draw=draw,
    uses=("greedy", "ran_ssd", "ran_by_temperature", "temperatures"),
    published=(
        published("70B/1B, uniform", [*zip(TEMPERATURES, EVEN, strict=True)], "Pd", SOURCE),
        published("70B/1B, geometric", [*zip(TEMPERATURES, SHAPED, strict=True)], "Pd", SOURCE),
    ),
)
