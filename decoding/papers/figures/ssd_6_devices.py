"""Figure 6 of the SSD paper, right half: more draft devices at a batch of 16."""

from __future__ import annotations

from decoding.papers.batches import ByBatch
from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, published, series
from decoding.papers.figures.base import Formula

BATCH, DEVICES = 16, (1, 2, 4, 8)
PAPER, SYNC = (170, 197, 216, 226), 130


def draw(evidence: Evidence) -> FigurePart:
    by_formula = [(n, gain(Formula(evidence, evidence.greedy, n))) for n in DEVICES]
    simulated = [(n, gain(evidence.simulated_together.on(n))) for n in DEVICES]
    return FigurePart(
        [series("ours, better backup", "theory", by_formula), series("ours, better backup", "simulated", simulated)],
        "All are projections: this machine has one device for the draft at most. Ours gives each device one branch for "
        "each accepted count, at prices measured here for one device; Corollary 16 and the simulator say what follows. "
        "After a miss one device drafts. The paper's comes from its hit-rate curves.",
    )


def gain(each: ByBatch) -> Estimate:
    """Speed of SSD over that of ordinary speculative decoding."""
    return each.ratio(each.ahead(BATCH), each.plain(BATCH))


FIGURE = Figure(
    paper=SSD,
    number="Figure 6, right",
    title=f"SSD over ordinary speculative decoding with more draft devices, batch {BATCH}",
    x=Axis("draft devices", log=True),
    y=Axis("SSD / SD", "times"),
    draw=draw,
    uses=("greedy", "ran_ssd", "joint", "ran_together"),
    published=(
        published(
            "70B/1B, projected",
            [(devices, speed / SYNC) for devices, speed in zip(DEVICES, PAPER, strict=True)],
            "Pd",
            "digitised from Figure 6 of arXiv 2603.03251v1, which projects: tokens/s over those of SD",
        ),
    ),
)
