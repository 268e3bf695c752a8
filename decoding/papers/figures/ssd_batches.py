"""SSD beside ordinary speculative decoding where several texts share passes: Figures 6 and 7, and Theorem 17."""

from __future__ import annotations

import math
from collections.abc import Sequence

from decoding.papers.batches import Backup, ByBatch
from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Point, Series, published, series
from decoding.papers.figures.base import NOT_RUN, Formula, by_batch
from decoding.papers.outcomes import total
from decoding.papers.settings import BATCHES
from decoding.trace.theory import critical_batch

# Tokens/s of each text in the paper, by batch size, with random tokens and with the model as backup, and without SSD
FAST, NEURAL, SYNC = (249, 244, 237, 207, 170), (256, 214, 186, 160, 135), (162, 158, 155, 145, 130)
PROJECTS = ", which projects: tokens/s over those of SD"
OVER_SD = ", fan-out 1: tokens/s over those of SD"
OF_EACH_GPU = "digitised from Figures 6 and 7 of arXiv 2603.03251v1, over autoregressive at batch 1 and for each GPU"
BACKUP_NAMES: dict[Backup, str] = {"neural": "ours, model as backup", "random": "ours, random tokens as backup"}
BATCH, DEVICES, PROJECTED = 16, (1, 2, 4, 8), (170, 197, 216, 226)
WAYS = {"ours, SSD on two devices": 2, "ours, SD on one": 1, "ours, autoregressive": 1}  # with their devices
UNDRAFTED, GPUS = 54.7, 4  # tokens/s without speculation, on four GPUs
WIDEST = 213 / (UNDRAFTED / GPUS)  # digitised from Figure 7: 16 texts without speculation over one, for each GPU
PAPER = {  # texts at once, tokens/s of each, tokens/s of each GPU
    "SSD": (BATCHES, tuple(map(max, FAST, NEURAL)), (51, 97, 189, 332, 543)),
    "SD": (BATCHES, SYNC, (41, 79, 155, 290, 521)),
    "no draft": ((1, 16), (UNDRAFTED, GPUS * 213 / 16), (UNDRAFTED / GPUS, 213)),  # its ends alone were read
}


def by_backup(evidence: Evidence) -> FigurePart:
    every = by_batch(evidence)
    shown = [_with_backup(each, backup) for each in every for backup in BACKUP_NAMES]
    if evidence.ran_together is None:
        return FigurePart(shown, f"Corollary 16, and the simulator, at prices measured here. {NOT_RUN}")
    return FigurePart(
        shown,
        "Measured: the fastest SSD that ran, over the fastest fixed lookahead beside it. Our texts share branches, "
        "which go to the likeliest outcomes of all. The formula leaves out messages, prompts of new texts, and what a "
        "verification takes longer while the draft prepares beside it; the simulation has prices for these.",
    )


def _with_backup(each: ByBatch, backup: Backup) -> Series:
    points = []
    for batch in BATCHES:
        ahead, plain = each.ahead(batch, backup), each.plain(batch)
        ratio = each.ratio(ahead, plain)
        points.append(Point(batch, ratio.value, ratio.low, ratio.high, each.label(ahead, plain)))
    return Series(BACKUP_NAMES[backup], each.origin, points)


def by_devices(evidence: Evidence) -> FigurePart:
    by_formula = [(n, over_plain(Formula(evidence, evidence.greedy, n))) for n in DEVICES]
    simulated = [(n, over_plain(evidence.simulated_together.on(n))) for n in DEVICES]
    return FigurePart(
        [series("ours, better backup", "theory", by_formula), series("ours, better backup", "simulated", simulated)],
        "All are projections: this machine has one device for the draft at most. Ours gives each device one branch for "
        "each accepted count, at prices measured here for one device; Corollary 16 and the simulator say what follows. "
        "After a miss one device drafts. The paper's comes from its hit-rate curves.",
    )


def over_plain(each: ByBatch) -> Estimate:
    """Speed of SSD over that of ordinary speculative decoding."""
    return each.ratio(each.ahead(BATCH), each.plain(BATCH))


def user_against_device(evidence: Evidence) -> FigurePart:
    formula, simulated, *run = map(_series, by_batch(evidence))
    shown = [*formula[:1], *simulated[:2], *run[0]] if run else [*formula, *simulated[:2]]
    undrafted = (*run, formula)[0][2].points[-1]
    return FigurePart(
        shown,
        f"{'' if run else f'{NOT_RUN} '}Without a draft {BATCHES[-1]} texts give {undrafted.y:.1f} times the tokens/s "
        f"of one here and {WIDEST:.1f} times in the paper. Ours divides SSD by two devices, one for the draft, and the "
        "paper by five GPUs.",
    )


def _series(each: ByBatch) -> list[Series]:
    """The fastest SSD, the fastest fixed lookahead, and no draft."""
    ways = each.ahead, each.plain, each.undrafted
    return [
        Series(name, each.origin, [_point(each.gain(way(batch)), batch, devices) for batch in BATCHES])
        for (name, devices), way in zip(WAYS.items(), ways, strict=True)
    ]


def _point(gain: Estimate, batch: int, devices: int) -> Point:
    device = gain.times(batch / devices)
    return Point(gain.value, device.value, device.low, device.high, f"batch {batch}")


def _ratios(
    name: str, ours: Sequence[float], theirs: Sequence[float], about: str = "", at: Sequence[float] = BATCHES
) -> Series:
    points = [(x, one / other) for x, one, other in zip(at, ours, theirs, strict=True)]
    return published(name, points, "Pd", f"digitised from Figure 6 of arXiv 2603.03251v1{about}")


def _published(name: str) -> Series:
    points = [
        Point(user / UNDRAFTED, device / (UNDRAFTED / GPUS), label=f"batch {batch}")
        for batch, user, device in zip(*PAPER[name], strict=True)
    ]
    return Series(f"70B/1B, {name}", "published", points, "Pd", OF_EACH_GPU)


def theorem_17(evidence: Evidence) -> FigurePart:
    shown = [series("ours", each.origin, [(batch, _of_backups(each, batch)) for batch in BATCHES])
             for each in by_batch(evidence)]  # fmt: skip
    formula = Formula(evidence, evidence.greedy)
    both = [formula.tuned(1, is_random=is_random) for is_random in (False, True)]
    critical = critical_batch(*(formula.speculation(way, total(formula.tallies(way))) for way in both))
    left_out = "" if shown[2:] else f"{NOT_RUN} "
    return FigurePart(
        shown,
        "Below 1 random tokens win; in the paper they do from 2 texts on. At prices of one text alone, b* is "
        f"{'beyond any batch' if math.isinf(critical) else math.ceil(critical)}. {left_out}It depends on what a draft "
        "costs beside a verification and on the hit rate under each backup.",
    )


def _of_backups(each: ByBatch, batch: int) -> Estimate:
    """The fastest with one backup over the fastest with the other."""
    return each.ratio(each.ahead(batch, "neural"), each.ahead(batch, "random"))


FIGURES = (
    Figure(
        slug="ssd-6",
        paper=SSD,
        number="Figure 6, left",
        title="SSD over ordinary speculative decoding, by batch size and backup",
        x=Axis("texts in the batch", log=True),
        y=Axis("SSD / SD", "times"),
        draw=by_backup,
        uses=("greedy", "ran_ssd", "joint", "ran_together"),
        published=(
            _ratios("70B/1B, model as backup", NEURAL, SYNC, OVER_SD),
            _ratios("70B/1B, random tokens as backup", FAST, SYNC, OVER_SD),
        ),
    ),
    Figure(
        slug="ssd-6-devices",
        paper=SSD,
        number="Figure 6, right",
        title=f"SSD over ordinary speculative decoding with more draft devices, batch {BATCH}",
        x=Axis("draft devices", log=True),
        y=Axis("SSD / SD", "times"),
        draw=by_devices,
        uses=("greedy", "ran_ssd", "joint", "ran_together"),
        published=(_ratios("70B/1B, projected", PROJECTED, SYNC[-1:] * len(DEVICES), PROJECTS, DEVICES),),
    ),
    Figure(
        slug="ssd-7",
        paper=SSD,
        number="Figure 7, right",
        title="Tokens per second: of a user, and of each device",
        x=Axis("of a user / autoregressive", "times"),
        y=Axis("of a device / autoregressive, batch 1", "times", log=True),
        draw=user_against_device,
        uses=("greedy", "ran_ssd", "joint", "ran_together"),
        published=tuple(map(_published, PAPER)),
    ),
    Figure(
        slug="ssd-theorem-17",
        paper=SSD,
        number="Theorem 17",
        title="Speed with the model as backup over random tokens",
        x=Axis("texts in the batch", log=True),
        y=Axis("model / random tokens", "times"),
        draw=theorem_17,
        uses=("greedy", "ran_ssd", "joint", "ran_together"),
        published=(_ratios("70B/1B, fan-out 1", NEURAL, FAST),),
    ),
)
