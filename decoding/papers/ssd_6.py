"""Figure 6 of the SSD paper, left half: both backups by batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.papers.base import Clock, Race
from decoding.reproduce.figure import SSD, Axis, Drawn, Figure, published, series
from decoding.reproduce.settings import BATCHES

if TYPE_CHECKING:
    from decoding.reproduce.evidence import Evidence

FAST, NEURAL, SYNC = (249, 244, 237, 207, 170), (256, 214, 186, 160, 135), (162, 158, 155, 145, 130)
SOURCE = "digitised from Figure 6 of arXiv 2603.03251v1, fan-out 1: tokens/s over those of SD"


def draw(evidence: Evidence) -> Drawn:
    race = Race(Clock(evidence), evidence.outcomes(0.0))
    neural, fast = [], []
    for batch in BATCHES:
        plain = race.tuned(0, batch=batch)
        neural.append((batch, race.ratio(race.tuned(1, batch=batch), plain, batch)))
        fast.append((batch, race.ratio(race.tuned(1, is_random=True, batch=batch), plain, batch)))
    return Drawn(
        [series("ours, model as backup", "theory", neural), series("ours, random tokens as backup", "theory", fast)],
        "Ours is not run: Corollary 16 is fed with our hit rates and with prices "
        f"of passes that 1 to {BATCHES[-1]} texts share, measured here; every text of a batch waits for the slowest.",
    )


FIGURE = Figure(
    slug="ssd-6",
    paper=SSD,
    number="Figure 6, left",
    title="SSD over ordinary speculative decoding, by batch size and backup",
    x=Axis("texts in the batch", log=True),
    y=Axis("SSD / SD", "times"),
    draw=draw,
    uses=("greedy", "ran ssd", "joint"),
    published=(
        published(
            "70B/1B, model as backup", [(b, n / s) for b, n, s in zip(BATCHES, NEURAL, SYNC, strict=True)], "Pd", SOURCE
        ),
        published(
            "70B/1B, random tokens as backup",
            [(b, f / s) for b, f, s in zip(BATCHES, FAST, SYNC, strict=True)],
            "Pd",
            SOURCE,
        ),
    ),
    recipe=("./drafthouse plan {models} --load 1,2,4,8,16",),
)
