"""Theorem 17 of the SSD paper: from which batch size on random tokens are the better backup."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from decoding.papers.base import Clock, Race
from decoding.reproduce.figure import SSD, Axis, Drawn, Figure, published, series
from decoding.reproduce.outcomes import total
from decoding.reproduce.settings import BATCHES
from decoding.ssd.theory import critical_batch

if TYPE_CHECKING:
    from decoding.reproduce.evidence import Evidence

FAST, NEURAL = (249, 244, 237, 207, 170), (256, 214, 186, 160, 135)


def draw(evidence: Evidence) -> Drawn:
    clock = Clock(evidence)
    race = Race(clock, evidence.outcomes(0.0))
    points = []
    for batch in BATCHES:
        neural, fast = (race.tuned(1, is_random=r, batch=batch) for r in (False, True))
        points.append((batch, race.ratio(neural, fast, batch)))
    both = [race.tuned(1, is_random=r) for r in (False, True)]
    critical = critical_batch(*(clock.speculation(one.way, total(one.tallies)) for one in both))
    turn = "never" if math.isinf(critical) else f"from {math.ceil(critical)}"
    return Drawn(
        [series("ours", "theory", points)],
        f"Random tokens win {turn} texts on here, with both terms at prices of one text, and from 2 on in the paper. "
        "The point depends on what a draft costs beside a verification and on the hit rate under each backup.",
    )


FIGURE = Figure(
    slug="ssd-theorem-17",
    paper=SSD,
    number="Theorem 17",
    title="Speed with the model as backup over random tokens",
    x=Axis("texts in the batch", log=True),
    y=Axis("model / random tokens", "times"),
    draw=draw,
    uses=("greedy", "ran ssd", "joint"),
    published=(
        published(
            "70B/1B, fan-out 1",
            [(b, n / f) for b, n, f in zip(BATCHES, NEURAL, FAST, strict=True)],
            "Pd",
            "digitised from Figure 6 of arXiv 2603.03251v1",
        ),
    ),
    recipe=("./drafthouse compare {models} --strategies ssd:4,backup=neural,ssd:4,backup=random --temperature 0",),
)
