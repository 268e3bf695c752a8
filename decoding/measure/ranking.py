"""Ranking: how far the order of a comparison's strategies is settled, and how many more prompts would settle the rest.

Standard library only. Strategies are ordered by their total times, which no choice of a baseline can change. The
fastest is chosen after looking, so its own figure is too high; so the intervals hold for all strategies at once
(`measure.intervals`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any

from decoding.measure.intervals import (
    MISSES,
    NO_INTERVAL,
    Interval,
    fewest_rows,
    ratio_intervals,
    standard_error,
)
from decoding.measure.speedups import Race
from decoding.words import percent

MOST_PROMPTS = 5000  # a difference that takes more prompts does not matter
SURE = 1.28  # standard errors around a difference between which its true value lies in 8 of 10 cases

SEEN_BY_ONE = 0.5  # rule of thumb for one strategy whose log ratios spread by 0.08 to 0.20 (`bench coverage`)
GOAL = 0.05  # a difference that most people care for

RANKED = ("ranked", "server")  # roles of what could be deployed

Row = Mapping[str, Any]  # one strategy of a report
Range = tuple[int, int | None]  # None: nobody knows


@dataclass(frozen=True, slots=True)
class Ranking:
    leader: str | None = None  # label of the fastest strategy that is shown to be a gain
    as_fast: tuple[str, ...] = ()  # labels not shown to be slower than the leader, fastest first
    more_prompts: Range | None = None  # at least and at most so many settle the next question; None: nothing is open
    sentence: str = ""  # all of this in words; empty if it adds nothing to the verdict


def ranked(rows: Sequence[Row]) -> list[Row]:
    """Order the strategies that could be deployed by speed. One that writes another text has no place among them."""
    found = [row for row in rows if row["role"] in RANKED and row["speedup"] and not row["audit"]["divergent"]]
    return sorted(found, key=lambda row: -row["speedup"]["ratio"])


def leader_of(found: Sequence[Row]) -> Row | None:
    """The fastest that is shown to be a gain, over the usual baseline too: another baseline names no other strategy."""
    gains = [row for row in found if (row["speedup"]["low"] or 0) > 1]
    return next((row for row in gains if row["is_shown"]), next(iter(gains), None))


def pair_intervals(races: Sequence[Race], labels: Collection[str], planned: int = 0) -> dict[tuple[str, str], Interval]:
    """Intervals of the time of each of these strategies relative to each other one at its load, so of the other's speed
    relative to its own. Those of all loads hold together: any strategy could have led."""
    columns = {label: race.times[label] for race in races for label in race.times if label in labels}
    pairs = [pair for race in races for pair in combinations([one for one in race.times if one in labels], 2)]
    found = ratio_intervals(columns, pairs, planned)
    return found | {(other, one): _inverse(interval) for (one, other), interval in found.items()}


def _inverse(interval: Interval) -> Interval:
    low, high = interval
    return NO_INTERVAL if low is None or high is None else (1 / high, 1 / low)


def ranking(
    rows: Sequence[Row], race: Race, pairs: Mapping[tuple[str, str], Interval], baseline: str, judged: int
) -> Ranking:
    """Rank the rows of one load. `pairs` are intervals of times relative to each other, `judged` is the number of
    speed-ups whose intervals hold together. Rows may have a `name` for people."""
    best = [row for row in ranked(rows) if row["label"] != baseline and row["label"] in race.times]
    if not best:
        return Ranking()
    names = {row["label"]: row.get("name", row["label"]) for row in rows}
    if all(row["speedup"]["low"] is None for row in best):
        missing = max(1, fewest_rows(judged) - race.prompts)
        return Ranking(more_prompts=(missing, missing), sentence=_too_few(judged, missing, race))
    leader = leader_of(best)
    if leader is None:
        first = best[0]["label"]
        if (best[0]["speedup"]["high"] or 2) < 1:
            return Ranking()
        more = _more(race, first, baseline, judged)
        question = f"show whether {names[first]} is faster than {names[baseline]}"
        return Ranking(more_prompts=more, sentence=_asked(more, question))
    label = leader["label"]
    slower = {row["label"] for row in best if (pairs.get((row["label"], label), NO_INTERVAL)[0] or 0) > 1}
    rivals = [row["label"] for row in best if row is not leader and row["label"] not in slower]
    if not rivals:
        return Ranking(label)
    more = _more(race, label, rivals[0], len(best) * (len(best) - 1) // 2)
    question = f"tell {names[label]} from {names[rivals[0]]}"
    sentence = f"{may_be_as_fast([names[r] for r in rivals])} {_asked(more, question)}"
    return Ranking(label, tuple(rivals), more, sentence)


def _more(race: Race, one: str, other: str, judged: int) -> Range | None:
    """How many further prompts tell two strategies apart, at least and at most: the difference is known only so far.
    An interval's width falls with the square root of the number of prompts."""
    times, error = race.times, standard_error(race.times[one], race.times[other])
    effect = abs(math.log(race.ratio(one, other)))
    limit = NormalDist().inv_cdf(1 - MISSES / 2 / max(1, judged))
    rows = len(times[one])

    def wanted(difference: float) -> int | None:
        found = rows * (limit * error / difference) ** 2 if difference > 0 else math.inf
        return max(1, math.ceil(found) - rows) if found <= MOST_PROMPTS else None

    least = wanted(effect + SURE * error)
    return None if least is None else (least, wanted(effect - SURE * error))


def _too_few(strategies: int, missing: int, race: Race) -> str:
    if race.load.is_open:
        return "Requests of an open loop share one queue, so an interval takes repeats: run at least 6."
    if missing == 1 and race.prompts >= fewest_rows(strategies):
        return "The prompts differ too much to say how sure these speeds are: run more of them."
    together = f"Intervals for {strategies} speed-ups at once take" if strategies > 1 else "An interval takes"
    return f"{together} at least {fewest_rows(strategies)} prompts: run {missing} more."


def _asked(more: Range | None, question: str) -> str:
    if more is None:
        return (
            f"More than {MOST_PROMPTS:,} prompts like these would be needed to {question}: take them as equally fast."
        )
    least, most = more
    if most is None:
        return f"At least {_digit(least)} more prompts like these, maybe thousands, would {question}."
    if _digit(least) == _digit(most):
        return f"About {_digit(most)} more prompt{'s' if most > 1 else ''} like these would {question}."
    return f"Some {_digit(least)} to {_digit(most)} more prompts like these would {question}."


def _digit(count: int) -> str:
    """Round up to one digit: no more is known."""
    step = 10 ** (len(str(count)) - 1)
    return f"{math.ceil(count / step) * step:,}"


def may_be_as_fast(names: Sequence[str]) -> str:
    return f"{listed(names, 'and')} may be as fast."


def listed(names: Sequence[str], word: str) -> str:
    """The first three of some names, and how many more there are."""
    shown = list(names[:3])
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown)} more")
    return f"{', '.join(shown[:-1])} {word} {shown[-1]}" if shown[1:] else shown[0]


def are_too_few(prompts: int, strategies: int) -> bool:
    """Whether so many strategies beside the baseline get no interval."""
    return strategies > 0 and prompts < fewest_rows(strategies)


def outlook(prompts: int, strategies: int) -> str:
    """Say what so many prompts can show of so many strategies beside the baseline."""
    enough = f" About {math.ceil((SEEN_BY_ONE / GOAL) ** 2)} prompts show differences of {percent(GOAL)}."
    if are_too_few(prompts, strategies):
        number = "1 prompt is" if prompts == 1 else f"{prompts} prompts are"
        intervals = f"intervals of {strategies} strategies at once take" if strategies > 1 else "an interval takes"
        return f"{number} too few to settle anything: {intervals} at least {fewest_rows(strategies)}.{enough}"
    seen = SEEN_BY_ONE / math.sqrt(prompts)
    return f"{prompts} prompts usually show differences of {percent(seen)} or more.{enough if seen > GOAL else ''}"
