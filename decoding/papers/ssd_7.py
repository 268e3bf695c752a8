"""Figure 7 of the SSD paper: tokens per second of a user against those of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.papers.base import Clock, Race, Tuned
from decoding.reproduce.bootstrap import Estimate
from decoding.reproduce.figure import SSD, Axis, Drawn, Figure, Point, Series
from decoding.reproduce.settings import BATCHES, BRANCHES_EACH

if TYPE_CHECKING:
    from decoding.reproduce.evidence import Evidence

ALONE, DEVICES = 54.7, 4  # tokens/s without speculation, on four GPUs
SOURCE = "digitised from Figures 6 and 7 of arXiv 2603.03251v1, over autoregressive at batch 1 and for each GPU"
PAPER = {
    "SSD": ((256, 244, 237, 207, 170), (51, 97, 189, 332, 543)),
    "SD": ((162, 158, 155, 145, 130), (41, 79, 155, 290, 521)),
}


def draw(evidence: Evidence) -> Drawn:
    clock = Clock(evidence)
    race, base = Race(clock, evidence.outcomes(0.0)), clock.alone()

    def at(batch: int, speed: Estimate, devices: int) -> Point:
        low, high = speed.low, speed.high
        wide = batch / devices / base
        return Point(speed.value / base, speed.value * wide, low and low * wide, high and high * wide, f"batch {batch}")

    def best(batch: int) -> Tuned:
        found = [race.tuned(BRANCHES_EACH, is_random=r, batch=batch) for r in (False, True)]
        return max(found, key=lambda one: race.speed(one, batch).value)

    plain = [at(batch, race.speed(race.tuned(0, batch=batch), batch), 1) for batch in BATCHES]
    ahead = [at(batch, race.speed(best(batch), batch), 2) for batch in BATCHES]
    alone = [at(batch, Estimate(clock.alone(batch)), 1) for batch in BATCHES]
    return Drawn(
        [
            Series("ours, SSD on two devices", "theory", ahead),
            Series("ours, SD on one", "theory", plain),
            Series("ours, autoregressive", "theory", alone),
        ],
        "Corollary 16 at prices measured here. Ours divides by two devices, one for the draft, where the paper divides "
        "by five GPUs, so SSD pays more for its draft device here.",
    )


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
    y=Axis("of a device / autoregressive, batch 1", "times"),
    draw=draw,
    uses=("greedy", "ran ssd", "joint"),
    published=(_published("SSD"), _published("SD")),
    recipe=("./drafthouse compare {models} --strategies static:4 --concurrency 1,2,4,8,16",),
)
