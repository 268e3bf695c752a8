"""Theorem 7 and Corollaries 8 and 9 of the SSD paper against the simulator and live runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.papers.base import ALONE, DEEPEST, NOT_RUN, Clock, Race, Tuned, Way
from decoding.reproduce.bootstrap import Estimate
from decoding.reproduce.figure import SSD, Axis, Drawn, Figure, Series, series
from decoding.reproduce.outcomes import total
from decoding.reproduce.settings import BRANCHES_EACH
from decoding.ssd.theory import most_over, without_hits
from decoding.words import signed

if TYPE_CHECKING:
    from decoding.reproduce.evidence import Evidence

Points = list[tuple[float, Estimate]]
DEPTHS = range(1, DEEPEST + 1)


def draw(evidence: Evidence) -> Drawn:
    race = Race(Clock(evidence), evidence.outcomes(0.0))
    ahead, plain = _by_formula(race, BRANCHES_EACH), _by_formula(race, 0)
    shown = [
        series("Theorem 7", "theory", ahead),
        series("the same without hits (SD)", "theory", plain),
        series("Corollary 9, upper bound", "theory", _bounds(race)),
        series("simulated", "simulated", _simulated(evidence)),
        *_measured(evidence),
    ]
    slower = [k for (k, a), (_, p) in zip(ahead, plain, strict=True) if a.value < p.value]
    return Drawn(shown, _why(evidence, shown, slower))


def _by_formula(race: Race, each: int) -> Points:
    base = race.clock.alone()
    ways = [Way(depth, each) for depth in DEPTHS]
    speeds = [(way.lookahead, race.speed(Tuned(way, race.tallies(way)))) for way in ways]
    return [(depth, speed.times(1 / base)) for depth, speed in speeds]


def _bounds(race: Race) -> Points:
    """SD's speed times the most that SSD can be over it."""
    found: Points = []
    for depth in DEPTHS:
        plain, ahead = (total(race.tallies(Way(depth, each))) for each in (0, BRANCHES_EACH))
        drafting = race.clock.draft(depth, 1) / race.clock.verify(depth, 1)
        most = most_over(without_hits(plain.tokens_per_round, drafting), ahead.tokens_per_hit)
        found.append((depth, Estimate(most * race.clock.speed(Way(depth), plain) / race.clock.alone())))
    return found


def _simulated(evidence: Evidence) -> Points:
    """Speed over that of a round without a draft, which has the same rest as the simulator's rounds."""
    alone = evidence.alone
    one = alone.verify(1) + alone.round + alone.token
    return [(depth, speed.times(one)) for depth, speed in evidence.simulated(DEPTHS).items()]


def _measured(evidence: Evidence) -> list[Series]:
    if not evidence.has_second_core:
        return []
    ran, found = evidence.ran_ssd, {True: Points(), False: Points()}
    for choice in evidence.speculating:
        point = int(choice.params["lookahead"]), ran.ratio(choice.label, ALONE.label)
        found[choice.spec.prepares_ahead].append(point)
    return [
        series("SSD, run here", "measured", found[True], is_line=False),
        series("SD, run here", "measured", found[False], is_line=False),
    ]


def _against_corollary_8(slower: list[float]) -> str:
    if not slower:
        return "By the formula SSD is never slower than SD here (Corollary 8). "
    return (
        f"By the formula SSD is slower than SD with {', '.join(f'{k:g}' for k in slower)} tokens here: preparing "
        "branches takes longer than drafting, which Corollary 8 leaves out. "
    )


def _why(evidence: Evidence, shown: list[Series], slower: list[float]) -> str:
    by_name = {each.name: {point.x: point.y for point in each.points} for each in shown}
    words = _against_corollary_8(slower)
    if not evidence.has_second_core:
        return words + NOT_RUN
    run, played, formula = (by_name[name] for name in ("SSD, run here", "simulated", "Theorem 7"))
    off = [
        f"{signed(100 * (formula[k] / y - 1), 0)} and {signed(100 * (played[k] / y - 1), 0)} % with {k:g} tokens"
        for k, y in run.items()
    ]
    return words + (
        f"Formula and simulation are off the run by {'; '.join(off)}. The formula leaves out messages, the rest of a "
        "round, and that the draft slows a verification beside it; the simulator has their prices."
    )


FIGURE = Figure(
    slug="ssd-theory",
    paper=SSD,
    number="Theorem 7, Corollaries 8, 9",
    title="Speed-up over autoregressive: formula, simulation, run",
    x=Axis("lookahead, tokens"),
    y=Axis("speed-up", "times"),
    draw=draw,
    uses=("greedy", "ran ssd"),
    unpublished="The paper proves these and prints no points.",
    recipe=("./drafthouse bench ssd",),
)
