"""Theorem 7 and Corollaries 8 and 9 of the SSD paper against the simulator and live runs."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Series, series
from decoding.papers.figures.base import DEEPEST, NOT_RUN, Drafting, Formula
from decoding.papers.outcomes import total
from decoding.papers.settings import AUTOREGRESSIVE, BRANCHES_EACH
from decoding.trace.theory import least_over, most_over

Points = list[tuple[float, Estimate]]
DEPTHS = range(1, DEEPEST + 1)


def draw(evidence: Evidence) -> FigurePart:
    race = Formula(evidence, evidence.greedy)
    ahead, plain = _by_formula(race, BRANCHES_EACH), _by_formula(race, 0)
    most, least = _bounds(race)
    shown = [
        series("Theorem 7", "theory", ahead),
        series("the same without hits (SD)", "theory", plain),
        series("Theorem 7, random tokens as backup", "theory", _by_formula(race, BRANCHES_EACH, is_random=True)),
        series("Corollary 9, upper bound", "theory", most),
        series("Corollary 9, lower bound", "theory", least),
        series("simulated", "simulated", _simulated(evidence)),
        *_measured(evidence),
    ]
    slower = [k for (k, one), (_, other) in zip(ahead, plain, strict=True) if one.value < other.value * (1 - 1e-9)]
    return FigurePart(shown, _against_corollary_8(slower) + _why(evidence))


def _by_formula(race: Formula, each: int, *, is_random: bool = False) -> Points:
    return [(depth, race.gain(Drafting(depth, each, is_random))) for depth in DEPTHS]


def _bounds(race: Formula) -> tuple[Points, Points]:
    """SD's speed times the most, and times the least, that SSD can be over it."""
    most, least = Points(), Points()
    for depth in DEPTHS:
        way = Drafting(depth)
        plain, ahead = (total(race.tallies(one)) for one in (way, Drafting(depth, BRANCHES_EACH)))
        sd = race.speculation(way, plain)
        unit = race.pace(way, plain) * race.verify(race.undrafted())
        most.append((depth, Estimate(unit * most_over(sd, ahead.tokens_per_hit))))
        over = least_over(sd, ahead.hit_rate, ahead.tokens_per_hit)
        least.append((depth, Estimate(unit * over)))
    return most, least


def _simulated(evidence: Evidence) -> Points:
    """Speed over that of a round without a draft, which has the same rest as the simulator's rounds."""
    single = evidence.single
    one = single.verify(1, 1) + single.fixed(1) + single.token
    return [(depth, speed.times(one)) for depth, speed in evidence.simulated(DEPTHS).items()]


def _measured(evidence: Evidence) -> list[Series]:
    if not evidence.has_second_core:
        return []
    ran, found = evidence.ran_ssd, {True: Points(), False: Points()}
    for choice in evidence.speculating:
        point = int(choice.params["lookahead"]), ran.ratio(choice, AUTOREGRESSIVE)
        found[choice.spec.prepares_ahead].append(point)
    return [
        series("SSD, run here", "measured", found[True], is_line=False),
        series("SD, run here", "measured", found[False], is_line=False),
    ]


def _against_corollary_8(slower: Sequence[float]) -> str:
    if not slower:
        return "By the formula SSD is never slower than SD here (Corollary 8). "
    return (
        f"By the formula SSD is slower than SD with {', '.join(f'{k:g}' for k in slower)} tokens here: preparing "
        "branches takes longer than drafting, which Corollary 8 leaves out. "
    )


def _why(evidence: Evidence) -> str:
    if not evidence.has_second_core:
        return NOT_RUN
    return (
        "The formula leaves out messages, the rest of a round, and that the draft slows a verification beside it; the "
        "simulator has their prices. The lower bound is Corollary 9 as a reader of the paper cites it: it counts "
        "preparing as hidden and gives a miss the tokens of a hit."
    )


FIGURES = (
    Figure(
        slug="ssd-theory",
        paper=SSD,
        number="Theorem 7, Corollaries 8, 9",
        title="Speed-up over autoregressive: formula, simulation, run",
        x=Axis("lookahead, tokens"),
        y=Axis("speed-up", "times"),
        draw=draw,
        uses=("greedy", "ran_ssd"),
        unpublished="The paper proves these and prints no points.",
    ),
)
