"""Ranking: how far the order of a comparison's strategies is settled, and how many more prompts would settle the rest.

Standard library only. The fastest strategy is chosen after looking, so its own figure is too high. Two remedies: the
intervals hold for all strategies at once (`measure.intervals`), and `held_out` is the speed-up of the strategy that the
other prompts choose.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from decoding.measure.intervals import FEWEST_ROWS, Interval, fewest_rows, median_intervals
from decoding.measure.sample import Sample
from decoding.measure.speedups import Ratios, ratios
from decoding.strategies import BASELINE

FOLDS = 16
MOST_PROMPTS = 5000  # a difference that takes more prompts does not matter
WORTH_TELLING = 0.01  # least difference between `held_out` and the leader's figure to report

RANKED = ("ranked", "server")  # roles of what could be deployed

Row = Mapping[str, Any]  # one strategy of a report


@dataclass(frozen=True, slots=True)
class Ranking:
    leader: str | None = None  # label of the strategy that the verdict names
    as_fast: tuple[str, ...] = ()  # labels not shown to be slower than the leader, fastest first
    held_out: float | None = None  # speed-up of the strategy that other prompts choose, if there are enough
    more_prompts: int | None = None  # to settle the next open question; None if nothing is open or it takes too many
    sentence: str = ""  # all of this in words; empty if it adds nothing to the verdict


def ranked(rows: Sequence[Row], baseline: str = BASELINE) -> list[Row]:
    """Order the strategies that could be deployed, without the baseline: first those shown to be faster than it, then
    by speed. The intervals hold together, so a certain gain goes before a larger uncertain one."""
    found = [row for row in rows if row["role"] in RANKED and row["speedup"] and row["label"] != baseline]
    return sorted(found, key=lambda row: order(row["speedup"]["median"], row["speedup"]["low"]))


def order(median: float, low: float | None) -> tuple[bool, float]:
    """Sort key for speed-ups, as in `ranked`."""
    return (low is None or low <= 1, -median)


def ranking(rows: Sequence[Row], samples: Sequence[Sample], baseline: str = BASELINE) -> Ranking:
    """Rank the rows of a report made from these samples. Rows may have a `name` for people."""
    best = ranked(rows, baseline)
    if not best:
        return Ranking()
    leader, strategies = best[0], sum(row["label"] != baseline for row in rows)
    if leader["speedup"]["low"] is None:
        missing = max(1, fewest_rows(strategies) - leader["speedup"]["prompts"])
        return Ranking(leader["label"], more_prompts=missing, sentence=_too_few(strategies, missing))
    base = [s for s in samples if s.strategy == baseline]
    columns = {row["label"]: ratios([s for s in samples if s.strategy == row["label"]], base) for row in best}
    names = {row["label"]: row.get("name", row["label"]) for row in rows}
    return _settled(leader, columns, names, baseline)


def _settled(leader: Row, columns: Mapping[str, Ratios], names: Mapping[str, str], baseline: str) -> Ranking:
    gain, label = leader["speedup"], leader["label"]
    held_out = speed_held_out(columns)
    if gain["low"] <= 1:
        more = _more(gain["median"], (gain["low"], gain["high"]), gain["prompts"], len(columns))
        question = f"show whether {names[label]} is faster than {names[baseline]}"
        sentence = _asked(more, question) if gain["high"] >= 1 else ""
        return Ranking(label, (), held_out, more, sentence)
    beside = _beside_leader(columns, label)
    rivals = [other for other, (_, interval) in beside.items() if interval[0] is None or interval[0] <= 1]
    if not rivals:
        return Ranking(label, (), held_out, None, _flattered(held_out, gain["median"]))
    ratio, interval = beside[rivals[0]]
    more = _more(statistics.median(ratio.values()), interval, len(ratio), len(columns) * (len(columns) - 1) // 2)
    question = f"tell {names[label]} from {names[rivals[0]]}"
    words = [_may_be_as_fast([names[r] for r in rivals]), _asked(more, question), _flattered(held_out, gain["median"])]
    return Ranking(label, tuple(rivals), held_out, more, " ".join(filter(None, words)))


def _beside_leader(columns: Mapping[str, Ratios], leader: str) -> dict[str, tuple[Ratios, Interval]]:
    """Speed of the leader relative to every other strategy, with its interval. All pairs share the risk, since each
    could have led."""
    pairs = [tuple(sorted(pair, key=lambda label: label != leader)) for pair in combinations(columns, 2)]
    beside = [
        {p: value / columns[other][p] for p, value in columns[one].items() if p in columns[other]}
        for one, other in pairs
    ]
    found = zip(pairs, beside, median_intervals(beside), strict=True)
    return {other: (ratio, interval) for (one, other), ratio, interval in found if one == leader and ratio}


def speed_held_out(columns: Mapping[str, Ratios]) -> float | None:
    """Median over all prompts of the speed-up of the strategy that the other prompts choose."""
    prompts = sorted(set.intersection(*(set(column) for column in columns.values())))
    return statistics.median(_judged(columns, prompts)) if len(prompts) >= FEWEST_ROWS else None


def _judged(columns: Mapping[str, Ratios], prompts: Sequence[str]) -> Iterator[float]:
    for fold in range(min(FOLDS, len(prompts))):
        judged = prompts[fold::FOLDS]
        others = set(prompts).difference(judged)
        chosen = max(columns, key=lambda label: statistics.median(columns[label][p] for p in others))
        yield from (columns[chosen][prompt] for prompt in judged)


def _more(middle: float, interval: Interval, prompts: int, intervals: int) -> int | None:
    """Number of further prompts that move the interval off 1, if the median stays: its width falls with the square root
    of their number."""
    low, high = interval
    if low is None or high is None:
        return max(1, fewest_rows(intervals) - prompts)
    effect = math.log(middle)
    reach = math.log(middle / low) if effect > 0 else math.log(high / middle)
    wanted = prompts * (reach / effect) ** 2 if effect else math.inf
    return max(1, math.ceil(wanted) - prompts) if wanted <= MOST_PROMPTS else None


def _too_few(strategies: int, missing: int) -> str:
    intervals = f"Intervals for {strategies} strategies at once take" if strategies > 1 else "An interval takes"
    return f"{intervals} at least {fewest_rows(strategies)} prompts: run {missing} more."


def _asked(more: int | None, question: str) -> str:
    if more is None:
        return (
            f"More than {MOST_PROMPTS:,} prompts like these would be needed to {question}: take them as equally fast."
        )
    return f"About {_rounded(more)} more prompt{'s' if more > 1 else ''} like these would {question}."


def _rounded(count: int) -> str:
    """Round to two digits: no more is known."""
    step = 10 ** max(0, len(str(count)) - 2)
    return f"{math.ceil(count / step) * step:,}"


def _may_be_as_fast(names: Sequence[str]) -> str:
    shown = list(names[:3])
    if len(names) > len(shown):
        shown.append(f"{len(names) - len(shown)} more")
    return f"{', '.join(shown[:-1])} and {shown[-1]} may be as fast." if shown[1:] else f"{shown[0]} may be as fast."


def _flattered(held_out: float | None, median: float) -> str:
    if held_out is None or median - held_out < WORTH_TELLING * median:
        return ""
    return f"If other prompts choose the fastest strategy, it runs at {held_out:.2f} times."
