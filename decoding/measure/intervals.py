"""Confidence intervals for the medians of several columns, all true at once. Standard library only.

An interval runs from the r-th smallest value to the r-th largest. It misses the true median only if fewer than r values
lie on one side. Each value lies above the true median like a fair coin, for every distribution: heavy tails, skew and
two modes change nothing. Each interval is as narrow as possible while all of them hold together in some 95 % of cases
(docs/decisions/0033-intervals-hold-together.md).
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

MISSES = 1 / 16  # share of cases in which an interval may miss: ranks are whole, so most cases stay near 5 %
FEWEST_ROWS = 6  # with 5 rows even the whole range misses in 1 of 16 cases
ALL_TOSSES = 12  # up to this many rows, try every toss
TOSSES = 4000  # with more rows

Column = Mapping[Any, float]  # row -> value
Interval = tuple[float, float] | tuple[None, None]


def median_intervals(columns: Sequence[Column]) -> list[Interval]:
    """One interval per column; none if it has too few rows for so many columns."""
    enough = fewest_rows(sum(bool(column) for column in columns))
    filled = [column for column in columns if len(column) >= enough]
    level = _level(filled) if filled else 0.0
    return [_interval(sorted(c.values()), level) if len(c) >= enough else (None, None) for c in columns]


def median_interval(values: Iterable[float]) -> Interval:
    """Interval of a single column."""
    return median_intervals([dict(enumerate(values))])[0]


def fewest_rows(columns: int) -> int:
    """Number of rows that give each of so many columns an interval."""
    return max(FEWEST_ROWS, 5 + math.ceil(math.log2(max(1, columns))))


def _level(columns: Sequence[Column]) -> float:
    """Share of cases in which each interval alone may miss, so that all together hold often enough."""
    found = sorted(_least_tails(columns))
    levels = {tail for column in columns for tail in _tails(len(column))}
    return max((level for level in levels if bisect_right(found, level) <= MISSES * len(found)), default=0.0)


def _least_tails(columns: Sequence[Column]) -> Iterator[float]:
    """Tail probability of the column that each toss hits worst. All columns share one coin per row, so similar columns
    miss together, and fewer tosses have a miss."""
    bits = {row: 1 << number for number, row in enumerate(dict.fromkeys(row for column in columns for row in column))}
    marked = {(_above_median(column, bits), sum(bits[row] for row in column)) for column in columns}
    tabled = [(above, rows, _tails(rows.bit_count())) for above, rows in marked]
    for toss in _tosses(len(bits)):
        yield min(tails[((toss ^ above) & rows).bit_count()] for above, rows, tails in tabled)


def _above_median(column: Column, bits: Mapping[Any, int]) -> int:
    """Rows whose value is at least the median, as bits."""
    middle = statistics.median(column.values())
    return sum(bits[row] for row, value in column.items() if value >= middle)


def _tosses(rows: int) -> Iterable[int]:
    """One coin per row, as bits. A toss and its mirror image hit alike, so half of them suffice."""
    if rows <= ALL_TOSSES:
        return range(1 << (rows - 1))
    dice = random.Random(0)
    return (dice.getrandbits(rows) for _ in range(TOSSES))


@lru_cache(maxsize=256)
def _tails(rows: int) -> tuple[float, ...]:
    """Entry c: probability that so many fair coins show either side c times or less."""
    below = itertools.accumulate(math.comb(rows, c) for c in range(rows // 2 + 1))
    half = [min(1.0, count / 2 ** (rows - 1)) for count in below]
    return tuple(half[min(c, rows - c)] for c in range(rows + 1))


def _interval(values: Sequence[float], level: float) -> Interval:
    rank = bisect_right(_tails(len(values))[: (len(values) + 1) // 2], level)
    return (values[rank - 1], values[-rank]) if rank else (None, None)
