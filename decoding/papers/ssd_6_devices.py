"""Figure 6 of the SSD paper, right half: more draft devices at a batch of 16."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.papers.base import Clock, Race
from decoding.reproduce.figure import SSD, Axis, Drawn, Figure, published, series

if TYPE_CHECKING:
    from decoding.reproduce.evidence import Evidence

BATCH, DEVICES = 16, (1, 2, 4, 8)
PAPER, SYNC = (170, 197, 216, 226), 130


def draw(evidence: Evidence) -> Drawn:
    points = []
    for devices in DEVICES:
        race = Race(Clock(evidence, devices), evidence.outcomes(0.0))
        plain = race.tuned(0, batch=BATCH)
        backups = [race.ratio(race.tuned(devices, is_random=r, batch=BATCH), plain, BATCH) for r in (False, True)]
        points.append((devices, max(backups, key=lambda found: found.value)))
    return Drawn(
        [series("ours, better backup", "theory", points)],
        "Both halves are projections. Ours gives each device one branch for each accepted count and takes Corollary 16 "
        "at prices measured here for one device; the paper's comes from its hit-rate curves. Nothing is simulated: the "
        "simulator has one device for the draft.",
    )


FIGURE = Figure(
    slug="ssd-6-devices",
    paper=SSD,
    number="Figure 6, right",
    title=f"SSD over ordinary speculative decoding with more draft devices, batch {BATCH}",
    x=Axis("draft devices", log=True),
    y=Axis("SSD / SD", "times"),
    draw=draw,
    uses=("greedy", "ran ssd", "joint"),
    published=(
        published(
            "70B/1B, projected",
            [(devices, speed / SYNC) for devices, speed in zip(DEVICES, PAPER, strict=True)],
            "Pd",
            "digitised from Figure 6 of arXiv 2603.03251v1, which projects: tokens/s over those of SD",
        ),
    ),
)
