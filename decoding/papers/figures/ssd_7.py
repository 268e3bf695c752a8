"""Figure 7 of the SSD paper: tokens per second of a user against those of a device."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.papers.batches import ByBatch
from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Point, Series
from decoding.papers.figures.base import NOT_RUN, by_batch, off
from decoding.papers.settings import BATCHES

NAMES = {"ours, SSD on two devices": 2, "ours, SD on one": 1, "ours, autoregressive": 1}  # with their devices
UNDRAFTED, DEVICES = 54.7, 4  # tokens/s without speculation, on four GPUs
WIDEST = 213 / (UNDRAFTED / DEVICES)  # digitised from Figure 7: 16 texts without speculation over one, for each GPU
SOURCE = "digitised from Figures 6 and 7 of arXiv 2603.03251v1, over autoregressive at batch 1 and for each GPU"
PAPER = {  # texts at once, tokens/s of each, tokens/s of each GPU
    "SSD": (BATCHES, (256, 244, 237, 207, 170), (51, 97, 189, 332, 543)),
    "SD": (BATCHES, (162, 158, 155, 145, 130), (41, 79, 155, 290, 521)),
    "no draft": ((1, 16), (UNDRAFTED, DEVICES * 213 / 16), (UNDRAFTED / DEVICES, 213)),  # its ends alone were read
}


def draw(evidence: Evidence) -> FigurePart:
    formula, simulated, *run = map(_series, by_batch(evidence))
    shown = [*formula[:1], *simulated[:2], *run[0]] if run else [*formula, *simulated[:2]]
    return FigurePart(shown, _why(formula, simulated, *run))


def _series(each: ByBatch) -> list[Series]:
    """The fastest SSD, the fastest fixed lookahead, and no draft."""
    ways = each.ahead, each.plain, each.undrafted
    return [
        Series(name, each.origin, [_point(each.gain(way(batch)), batch, devices) for batch in BATCHES])
        for (name, devices), way in zip(NAMES.items(), ways, strict=True)
    ]


def _point(gain: Estimate, batch: int, devices: int) -> Point:
    device = gain.times(batch / devices)
    return Point(gain.value, device.value, device.low, device.high, f"batch {batch}")


def _why(formula: Sequence[Series], simulated: Sequence[Series], run: Sequence[Series] = ()) -> str:
    if run:
        words = (
            f"SSD's runs are off the formula by {off(run[0], formula[0])} texts at once, and off the simulation by "
            f"{off(run[0], simulated[0])}. SD's runs are off the simulation by {off(run[1], simulated[1])}."
        )
    else:
        words = f"Corollary 16, and the simulator, at prices measured here. {NOT_RUN}"
    alone_at_most = (run or formula)[2].points[-1]
    return (
        f"{words} Without a draft {BATCHES[-1]} texts give {alone_at_most.y:.1f} times the tokens/s of one here and "
        f"{WIDEST:.1f} times in the paper. Ours divides SSD by two devices, one for the draft, where the paper divides "
        "by five GPUs."
    )


def _published(name: str) -> Series:
    points = [
        Point(user / UNDRAFTED, device / (UNDRAFTED / DEVICES), label=f"batch {batch}")
        for batch, user, device in zip(*PAPER[name], strict=True)
    ]
    return Series(f"70B/1B, {name}", "published", points, "Pd", SOURCE)


FIGURE = Figure(
    paper=SSD,
    number="Figure 7, right",
    title="Tokens per second: of a user, and of each device",
    x=Axis("of a user / autoregressive", "times"),
    y=Axis("of a device / autoregressive, batch 1", "times", log=True),
    draw=draw,
    uses=("greedy", "ran_ssd", "joint", "ran_together"),
    published=tuple(map(_published, PAPER)),
)
