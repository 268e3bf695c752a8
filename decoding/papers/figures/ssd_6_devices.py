"""Figure 6 of the SSD paper, right half: more draft devices at a batch of 16."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, published, series
from decoding.papers.figures.base import TunedWays

if TYPE_CHECKING:
    from decoding.papers.simulation import SimulatedBatches

BATCH, DEVICES = 16, (1, 2, 4, 8)
PAPER, SYNC = (170, 197, 216, 226), 130


def draw(evidence: Evidence) -> FigurePart:
    points = []
    for devices in DEVICES:
        race = TunedWays(evidence, evidence.outcomes(0.0), devices)
        plain = race.tuned(0, batch=BATCH)
        backups = [race.ratio(race.tuned(devices, is_random=r, batch=BATCH), plain, BATCH) for r in (False, True)]
        points.append((devices, max(backups, key=lambda found: found.value)))
    simulated = [(devices, _simulated(evidence.simulated_together.on(devices))) for devices in DEVICES]
    return FigurePart(
        [series("ours, better backup", "theory", points), series("ours, better backup", "simulated", simulated)],
        "All are projections: this machine has one device for the draft at most. Ours gives each device one branch for "
        "each accepted count, at prices measured here for one device; Corollary 16 and the simulator say what follows. "
        "After a miss one device drafts. The paper's comes from its hit-rate curves.",
    )


def _simulated(every: SimulatedBatches) -> Estimate:
    return every.ratio(every.ahead(BATCH), every.plain(BATCH))


FIGURE = Figure(
    slug="ssd-6-devices",
    paper=SSD,
    number="Figure 6, right",
    title=f"SSD over ordinary speculative decoding with more draft devices, batch {BATCH}",
    x=Axis("draft devices", log=True),
    y=Axis("SSD / SD", "times"),
    draw=draw,
    uses=("greedy", "ran ssd", "joint", "together"),
    published=(
        published(
            "70B/1B, projected",
            [(devices, speed / SYNC) for devices, speed in zip(DEVICES, PAPER, strict=True)],
            "Pd",
            "digitised from Figure 6 of arXiv 2603.03251v1, which projects: tokens/s over those of SD",
        ),
    ),
)
