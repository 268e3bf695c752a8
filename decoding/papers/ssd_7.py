"""Figure 7 of the SSD paper: tokens per second of a user against those of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.papers.base import NOT_RUN, Clock, Race, Tuned
from decoding.reproduce.bootstrap import Estimate
from decoding.reproduce.figure import SSD, Axis, Drawn, Figure, Origin, Point, Series
from decoding.reproduce.settings import BATCHES, BRANCHES_EACH

if TYPE_CHECKING:
    from decoding.reproduce.evidence import Evidence
    from decoding.reproduce.together import Together

Gains = list[Estimate]  # over autoregressive of one text, by batch size
ALONE, DEVICES = 54.7, 4  # tokens/s without speculation, on four GPUs
WIDEST = 213 / (ALONE / DEVICES)  # digitised from Figure 7: 16 texts without speculation over one, for each GPU
SOURCE = "digitised from Figures 6 and 7 of arXiv 2603.03251v1, over autoregressive at batch 1 and for each GPU"
PAPER = {
    "SSD": ((256, 244, 237, 207, 170), (51, 97, 189, 332, 543)),
    "SD": ((162, 158, 155, 145, 130), (41, 79, 155, 290, 521)),
}


def draw(evidence: Evidence) -> Drawn:
    ran = evidence.ran_together
    ahead, plain, alone = _run(ran) if ran else _by_formula(evidence)
    origin: Origin = "measured" if ran else "theory"
    return Drawn(
        [
            Series("ours, SSD on two devices", origin, _points(ahead, 2)),
            Series("ours, SD on one", origin, _points(plain, 1)),
            Series("ours, autoregressive", origin, _points(alone, 1)),
        ],
        f"{'' if ran else f'Corollary 16 at prices measured here. {NOT_RUN} '}Without a draft {BATCHES[-1]} texts give "
        f"{BATCHES[-1] * alone[-1].value:.1f} times the tokens/s of one here and {WIDEST:.1f} times in the paper. Ours "
        "divides SSD by two devices, one for the draft, where the paper divides by five GPUs.",
    )


def _run(ran: Together) -> tuple[Gains, Gains, Gains]:
    """The fastest that ran of SSD, of fixed lookaheads, and without a draft."""
    return (
        [ran.gain(ran.ahead(batch)) for batch in BATCHES],
        [ran.gain(ran.plain(batch)) for batch in BATCHES],
        [ran.gain(ran.alone(batch)) for batch in BATCHES],
    )


def _by_formula(evidence: Evidence) -> tuple[Gains, Gains, Gains]:
    clock = Clock(evidence)
    race, unit = Race(clock, evidence.outcomes(0.0)), 1 / clock.alone()

    def best(batch: int) -> Tuned:
        found = [race.tuned(BRANCHES_EACH, is_random=r, batch=batch) for r in (False, True)]
        return max(found, key=lambda one: race.speed(one, batch).value)

    return (
        [race.speed(best(batch), batch).times(unit) for batch in BATCHES],
        [race.speed(race.tuned(0, batch=batch), batch).times(unit) for batch in BATCHES],
        [Estimate(clock.alone(batch) * unit) for batch in BATCHES],
    )


def _points(gains: Gains, devices: int) -> list[Point]:
    found = []
    for batch, gain in zip(BATCHES, gains, strict=True):
        device = gain.times(batch / devices)
        found.append(Point(gain.value, device.value, device.low, device.high, f"batch {batch}"))
    return found


def _published(name: str) -> Series:
    users, devices = PAPER[name]
    points = [
        Point(user / ALONE, device / (ALONE / DEVICES), label=f"batch {batch}")
        for batch, user, device in zip(BATCHES, users, devices, strict=True)
    ]
    return Series(f"70B/1B, {name}", "published", points, "Pd", SOURCE)


FIGURE = Figure(
    slug="ssd-7",
    paper=SSD,
    number="Figure 7, right",
    title="Tokens per second: of a user, and of each device",
    x=Axis("of a user / autoregressive", "times"),
    y=Axis("of a device / autoregressive, batch 1", "times", log=True),
    draw=draw,
    uses=("greedy", "ran ssd", "joint", "together"),
    published=(_published("SSD"), _published("SD")),
    recipe=("./drafthouse compare {asked} --temperature 0 --concurrency 1,2,4,8,16 --strategies static:4,ssd:4",),
)
