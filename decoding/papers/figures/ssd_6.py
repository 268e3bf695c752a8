"""Figure 6 of the SSD paper, left half: both backups by batch size."""

from __future__ import annotations

from decoding.papers.batches import Backup, ByBatch, RunBatches
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Point, Series, published
from decoding.papers.figures.base import NOT_RUN, Drafting, Formula, by_batch, off
from decoding.papers.outcomes import total
from decoding.papers.settings import BATCHES

FAST, NEURAL, SYNC = (249, 244, 237, 207, 170), (256, 214, 186, 160, 135), (162, 158, 155, 145, 130)
SOURCE = "digitised from Figure 6 of arXiv 2603.03251v1, fan-out 1: tokens/s over those of SD"
NAMES: dict[Backup, str] = {"neural": "ours, model as backup", "random": "ours, random tokens as backup"}


def draw(evidence: Evidence) -> FigurePart:
    every = by_batch(evidence)
    shown = [_series(each, backup) for each in every for backup in NAMES]
    if (ran := evidence.ran_together) is None:
        return FigurePart(shown, f"Corollary 16, and the simulator, at prices measured here. {NOT_RUN}")
    return FigurePart(shown, _why(ran, Formula(evidence, evidence.greedy), *shown[::2]))


def _series(each: ByBatch, backup: Backup) -> Series:
    points = []
    for batch in BATCHES:
        ahead, plain = each.ahead(batch, backup), each.plain(batch)
        ratio = each.ratio(ahead, plain)
        points.append(Point(batch, ratio.value, ratio.low, ratio.high, each.label(ahead, plain)))
    return Series(NAMES[backup], each.origin, points)


def _why(ran: RunBatches, formula: Formula, by_formula: Series, simulated: Series, run: Series) -> str:
    """Say what formula and simulation expected of the runs with the model as backup."""
    found = [ran.ahead(batch, "neural") for batch in BATCHES]
    expected = [total(formula.tallies(Drafting(int(choice.params["lookahead"]), 1))).hit_rate for choice in found]
    hits = [
        f"{100 * ran.hit_rate(choice):.0f} and {100 * share:.0f} % at {batch}"
        for batch, choice, share in zip(BATCHES, found, expected, strict=True)
    ]
    slower = ", ".join(f"{ran.slower(choice):.1f}" for choice in found)
    return (
        "Measured: the fastest SSD that ran, over the fastest fixed lookahead beside it. With the model as backup the "
        f"runs are off the formula by {off(run, by_formula)} texts at once, and off the simulation by "
        f"{off(run, simulated)}. Hit rates of "
        f"run and formula: {'; '.join(hits)}. Our texts share branches, which go to the likeliest outcomes of all. The "
        f"formula leaves out messages, prompts of new texts, and that a verification takes {slower} times as long here "
        "while the draft prepares beside it. The simulation has prices for these; those of joint passes were measured "
        "at another time."
    )


FIGURE = Figure(
    paper=SSD,
    number="Figure 6, left",
    title="SSD over ordinary speculative decoding, by batch size and backup",
    x=Axis("texts in the batch", log=True),
    y=Axis("SSD / SD", "times"),
    draw=draw,
    uses=("greedy", "ran_ssd", "joint", "ran_together"),
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
)
