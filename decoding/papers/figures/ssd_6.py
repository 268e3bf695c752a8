"""Figure 6 of the SSD paper, left half: both backups by batch size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Origin, Point, Series, published, series
from decoding.papers.figures.base import NOT_RUN, TunedWays, Way, off
from decoding.papers.outcomes import total
from decoding.papers.settings import BATCHES

if TYPE_CHECKING:
    from decoding.papers.together import Backup, ByBatch, MergedRuns

FAST, NEURAL, SYNC = (249, 244, 237, 207, 170), (256, 214, 186, 160, 135), (162, 158, 155, 145, 130)
SOURCE = "digitised from Figure 6 of arXiv 2603.03251v1, fan-out 1: tokens/s over those of SD"
NAMES: dict[Backup, str] = {"neural": "ours, model as backup", "random": "ours, random tokens as backup"}


def draw(evidence: Evidence) -> FigurePart:
    race = TunedWays(evidence, evidence.outcomes(0.0))
    formula = [series(name, "theory", _by_formula(race, backup)) for backup, name in NAMES.items()]
    simulated = [_found(evidence.simulated_together, backup, "simulated") for backup in NAMES]
    if (ran := evidence.ran_together) is None:
        return FigurePart(
            [*formula, *simulated], f"Corollary 16, and the simulator, at prices measured here. {NOT_RUN}"
        )
    run = [_found(ran, backup, "measured") for backup in NAMES]
    return FigurePart([*formula, *simulated, *run], _why(ran, race, (formula[0], simulated[0]), run[0]))


def _by_formula(race: TunedWays, backup: Backup) -> list[tuple[float, Estimate]]:
    found: list[tuple[float, Estimate]] = []
    for batch in BATCHES:
        ahead, plain = race.tuned(1, is_random=backup == "random", batch=batch), race.tuned(0, batch=batch)
        found.append((batch, race.ratio(ahead, plain, batch)))
    return found


def _found(every: ByBatch, backup: Backup, origin: Origin) -> Series:
    points = []
    for batch in BATCHES:
        ahead, plain = every.ahead(batch, backup), every.plain(batch)
        ratio = every.ratio(ahead, plain)
        points.append(Point(batch, ratio.value, ratio.low, ratio.high, f"{ahead.label} / {plain.label}"))
    return Series(NAMES[backup], origin, points)


def _why(ran: MergedRuns, race: TunedWays, expected: tuple[Series, Series], run: Series) -> str:
    """Say what formula and simulation expected of the runs with the model as backup."""
    found = [ran.ahead(batch, "neural") for batch in BATCHES]
    by_formula, simulated = (off(run, each) for each in expected)
    expected_hits = [_expected_hits(race, int(choice.params["lookahead"])) for choice in found]
    hits = [
        f"{100 * ran.hit_rate(choice):.0f} and {100 * share:.0f} % at {batch}"
        for batch, choice, share in zip(BATCHES, found, expected_hits, strict=True)
    ]
    slower = ", ".join(f"{ran.slower(choice):.1f}" for choice in found)
    return (
        "Measured: the fastest SSD that ran, over the fastest fixed lookahead beside it. With the model as backup the "
        f"runs are off the formula by {by_formula} texts at once, and off the simulation by {simulated}. Hit rates of "
        f"run and formula: {'; '.join(hits)}. Our texts share branches, which go to the likeliest outcomes of all. The "
        f"formula leaves out messages, prompts of new texts, and that a verification takes {slower} times as long here "
        "while the draft prepares beside it. The simulation has prices for these; those of joint passes were measured "
        "at another time."
    )


def _expected_hits(race: TunedWays, lookahead: int) -> float:
    return total(race.tallies(Way(lookahead, 1))).hit_rate


FIGURE = Figure(
    slug="ssd-6",
    paper=SSD,
    number="Figure 6, left",
    title="SSD over ordinary speculative decoding, by batch size and backup",
    x=Axis("texts in the batch", log=True),
    y=Axis("SSD / SD", "times"),
    draw=draw,
    uses=("greedy", "ran ssd", "joint", "together"),
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
    recipe=(
        "./drafthouse compare {asked} --temperature 0 --concurrency 8 --strategies static:4,"
        "ssd:4,fanout=uniform,branches=40,backup=neural,ssd:4,fanout=uniform,branches=40,backup=random",
    ),
)
