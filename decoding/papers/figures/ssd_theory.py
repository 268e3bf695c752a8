"""Theorem 7 and Corollaries 8 and 9 of the SSD paper against the simulator and live runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from decoding.papers.bootstrap import Estimate
from decoding.papers.figure import SSD, Axis, Evidence, Figure, FigurePart, Series, series
from decoding.papers.figures.base import DEEPEST, NOT_RUN, Drafting, Formula
from decoding.papers.outcomes import OutcomeTally, total
from decoding.papers.settings import AUTOREGRESSIVE, BRANCHES_EACH
from decoding.trace.theory import least_over, long_run_hit_rate, most_over
from decoding.words import signed

Points = list[tuple[float, Estimate]]
DEPTHS = range(1, DEEPEST + 1)
SAID = 4  # tokens of the drafts whose hits the sentence tells


def draw(evidence: Evidence) -> FigurePart:
    race = Formula(evidence, evidence.greedy)
    ahead, plain = _by_formula(race, BRANCHES_EACH), _by_formula(race, 0)
    most, least = _bounds(race)
    shown = [
        series("Theorem 7", "theory", ahead),
        series("the same without hits (SD)", "theory", plain),
        series("Theorem 7, random tokens as backup", "theory", _long_run(race)),
        series("Corollary 9, upper bound", "theory", most),
        series("Corollary 9, lower bound", "theory", least),
        series("simulated", "simulated", _simulated(evidence)),
        *_measured(evidence),
    ]
    words = _against_corollary_8(_below(ahead, plain)) + _against_corollary_9(_below(ahead, least)) + _hits(race)
    return FigurePart(shown, words + _why(evidence, shown))


def _below(points: Points, others: Points) -> list[float]:
    """Lookaheads at which the points lie below the others."""
    return [k for (k, one), (_, other) in zip(points, others, strict=True) if one.value < other.value * (1 - 1e-9)]


def _by_formula(race: Formula, each: int) -> Points:
    return [(depth, race.gain(Drafting(depth, each))) for depth in DEPTHS]


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


def _long_run(race: Formula) -> Points:
    """Speed by Theorem 7, at the hit rate of a text without end."""
    found: Points = []
    for depth in DEPTHS:
        way = _random(depth)
        tally = total(race.tallies(way))
        spoken = replace(race.speculation(way, tally), hit_rate=_endless(tally))
        found.append((depth, Estimate(spoken.speedup() / race.verify(way) * race.verify(race.undrafted()))))
    return found


def _random(depth: int) -> Drafting:
    return Drafting(depth, BRANCHES_EACH, is_random=True)


def _endless(tally: OutcomeTally) -> float:
    """Hit rate of a text without end. Where nothing ever missed, no random token was drafted."""
    if not tally.after_backup:
        return tally.hit_rate
    return long_run_hit_rate(1 - tally.miss_after_model, 1 - tally.miss_after_backup)


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


def _against_corollary_9(below: Sequence[float]) -> str:
    where = f"is below it with {', '.join(f'{k:g}' for k in below)} tokens" if below else "is never below it"
    return (
        "Corollary 9's lower bound, as a reader of the paper cites it, counts preparing as hidden and gives a miss the "
        f"tokens of a hit; Theorem 7 {where} here. "
    )


def _hits(race: Formula) -> str:
    """Compare the hit rate of a text without end with that of these texts."""
    tally = total(race.tallies(_random(SAID)))
    by_model, by_chance = (100 * (1 - missed) for missed in (tally.miss_after_model, tally.miss_after_backup))
    return (
        f"With random tokens as backup and {SAID} tokens the model's drafts hit in {by_model:.0f} % and random ones in "
        f"{by_chance:.0f} %, in the long run {100 * _endless(tally):.0f} %; these texts have "
        f"{100 * tally.hit_rate:.0f} %. "
    )


def _why(evidence: Evidence, shown: Sequence[Series]) -> str:
    if not evidence.has_second_core:
        return NOT_RUN
    by_name = {each.name: {point.x: point.y for point in each.points} for each in shown}
    run, played, formula = (by_name[name] for name in ("SSD, run here", "simulated", "Theorem 7"))
    off = [
        f"{signed(100 * (formula[k] / y - 1), 0)} and {signed(100 * (played[k] / y - 1), 0)} % with {k:g} tokens"
        for k, y in run.items()
    ]
    return (
        f"Formula and simulation are off the run by {'; '.join(off)}. The formula leaves out messages, the rest of a "
        "round, and that the draft slows a verification beside it; the simulator has their prices."
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
