"""Theorem 17 of the SSD paper: from which batch size on random tokens are the better backup."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from decoding.papers.base import NOT_RUN, Clock, Race
from decoding.reproduce.bootstrap import Estimate
from decoding.reproduce.figure import SSD, Axis, Drawn, Figure, Series, published, series
from decoding.reproduce.outcomes import total
from decoding.reproduce.settings import BATCHES
from decoding.ssd.theory import critical_batch

if TYPE_CHECKING:
    from decoding.reproduce.evidence import Evidence
    from decoding.reproduce.together import Together

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
    ran = evidence.ran_together
    run = [series("ours", "measured", _run(ran))] if ran else []
    return Drawn([series("ours", "theory", points), *run], _why(critical, run))


def _why(critical: float, run: list[Series]) -> str:
    words = f"By the formula random tokens win {_from(critical)}, with both terms at prices of one text"
    for measured in run:
        won = [point.x for point in itertools.takewhile(lambda point: point.y < 1, reversed(measured.points))]
        words += f"; in the runs {_from(min(won, default=math.inf))}"
    return (
        f"{words}; in the paper {_from(2)}. {'' if run else f'{NOT_RUN} '}The point depends on what a draft costs "
        "beside a verification and on the hit rate under each backup."
    )


def _from(batch: float) -> str:
    return "at no batch size" if math.isinf(batch) else f"from {math.ceil(batch)} text{'s' * (batch > 1)} on"


def _run(ran: Together) -> list[tuple[float, Estimate]]:
    """The fastest that ran with one backup over the fastest with the other."""
    return [
        (batch, ran.ran.ratio(ran.ahead(batch, "neural").label, ran.ahead(batch, "random").label)) for batch in BATCHES
    ]


FIGURE = Figure(
    slug="ssd-theorem-17",
    paper=SSD,
    number="Theorem 17",
    title="Speed with the model as backup over random tokens",
    x=Axis("texts in the batch", log=True),
    y=Axis("model / random tokens", "times"),
    draw=draw,
    uses=("greedy", "ran ssd", "joint", "together"),
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
