"""Confidence intervals for ratios of total times, all true at once. Standard library only.

A column holds the seconds that one contestant took for each prompt. If the ratio of two totals is truly r, then each
prompt's difference `a - r*b` may as well have the other sign. So the sum of the differences, in units of their size, is
compared with sums after random changes of sign. One limit serves all pairs that are judged together: each prompt has
one coin for all columns, so pairs of similar columns miss together, and the intervals are narrower for it
(docs/decisions/0033-intervals-hold-together.md).
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

MISSES = 0.04  # share of comparisons in which some interval misses at the end
MISSES_BEFORE = 0.01  # share in which some interval misses at any look before the end
FEWEST_ROWS = 6
ALL_TOSSES = 11  # up to this many rows, try every change of signs
TOSSES = 2000  # with more rows
MOST_COINS = 96  # with more rows, some share a coin
CHUNK = 8  # coins whose sums are looked up at once
LOOKS = 16.0  # the larger, the narrower the intervals of early looks and the wider those of late ones

Column = Mapping[Any, float]  # row -> seconds
Columns = Mapping[Any, Column]  # by name
Pair = tuple[Any, Any]  # names of two columns, which have the same rows
Interval = tuple[float, float] | tuple[None, None]
NO_INTERVAL: Interval = (None, None)


def ratio_intervals(columns: Columns, pairs: Sequence[Pair], planned: int = 0) -> dict[Pair, Interval]:
    """One interval for each pair, of the first column's total over the second's; none if it has too few rows.

    `planned` is the number of rows to come in all, if this is a look before the end. Then the intervals of all looks
    hold together, whenever one stops to look; they are wider for it."""
    enough = fewest_rows(len(pairs))
    judged = [(one, other) for one, other in pairs if len(columns[one]) >= enough]
    limit = _limit(columns, judged) if judged and not planned else 0.0
    found = dict.fromkeys(pairs, NO_INTERVAL)
    for one, other in judged:
        a, b = columns[one], columns[other]
        own = _limit_at(len(a), planned, len(pairs)) if planned else limit
        found[one, other] = _interval([*a.values()], [b[row] for row in a], own)
    return found


def ratio_interval(times: Iterable[tuple[float, float]]) -> Interval:
    """Interval of a single ratio, from the two times of each row."""
    pairs = list(enumerate(times))
    columns = {number: {row: both[number] for row, both in pairs} for number in (0, 1)}
    return ratio_intervals(columns, [(0, 1)])[0, 1]


def fewest_rows(pairs: int) -> int:
    """Number of rows below which so many pairs have no intervals."""
    return max(FEWEST_ROWS, 5 + math.ceil(math.log2(max(1, pairs))))


def standard_error(one: Column, other: Column) -> float:
    """Standard error of the logarithm of a ratio of totals."""
    return math.sqrt(sum((share - beside) ** 2 for share, beside in zip(_shares(one), _shares(other), strict=True)))


def _interval(a: Sequence[float], b: Sequence[float], limit: float) -> Interval:
    """Solve `(sum of a - r*b)^2 <= limit^2 * (sum of (a - r*b)^2)` for r."""
    square = limit * limit
    q = sum(b) ** 2 - square * math.fsum(y * y for y in b)
    m = sum(a) * sum(b) - square * math.fsum(x * y for x, y in zip(a, b, strict=True))
    p = sum(a) ** 2 - square * math.fsum(x * x for x in a)
    if q <= 0 or p <= 0:
        return NO_INTERVAL  # any ratio would do
    reach = math.sqrt(max(0.0, m * m - q * p))
    return (m - reach) / q, (m + reach) / q


def _limit(columns: Columns, pairs: Sequence[Pair]) -> float:
    """Size of a sum of differences, relative to the root of their squares, that all pairs together seldom exceed."""
    used = dict.fromkeys(name for pair in pairs for name in pair)
    rows = dict.fromkeys(row for name in used for row in columns[name])
    coins = {row: number % MOST_COINS for number, row in enumerate(rows)}
    shares = {name: _by_coin(columns[name], coins) for name in used}
    size = {(i, j): math.dist(shares[i], shares[j]) for i, j in pairs}
    unlike = [(i, j, 1 / size[i, j]) for i, j in size if size[i, j] > 1e-12]
    if not unlike:
        return 0.0
    tosses = _tosses(min(len(rows), MOST_COINS))
    sums = {name: _sums(own, tosses) for name, own in shares.items()}
    found = [0.0] * len(tosses[0])
    for i, j, scale in unlike:
        found = [max(most, abs(x - y) * scale) for most, x, y in zip(found, sums[i], sums[j], strict=True)]
    return sorted(found)[math.ceil((1 - MISSES) * len(found)) - 1]


def _limit_at(rows: int, planned: int, pairs: int) -> float:
    """The same for a look after so many rows of those planned. Sums of differences whose signs are random seldom leave
    this bound at any time (a mixture of de la Pena's exponential supermartingales)."""
    done = LOOKS * min(1.0, rows / planned)
    return math.sqrt((1 + 1 / done) * (math.log1p(done) + 2 * math.log(pairs / MISSES_BEFORE)))


def _shares(column: Column) -> list[float]:
    total = sum(column.values())
    return [seconds / total for seconds in column.values()]


def _by_coin(column: Column, coins: Mapping[Any, int]) -> list[float]:
    """Share of the total time that each coin decides. A pair's differences are those of its shares."""
    found = [0.0] * min(len(coins), MOST_COINS)
    for row, share in zip(column, _shares(column), strict=True):
        found[coins[row]] += share
    return found


@lru_cache(maxsize=16)
def _tosses(coins: int) -> Sequence[tuple[int, ...]]:
    """Changes of sign: for each `CHUNK` of coins its bits in each toss. A toss and its opposite come to the same, so
    half of all suffice."""
    dice = random.Random(0)
    tosses = range(1 << (coins - 1)) if coins <= ALL_TOSSES else [dice.getrandbits(coins) for _ in range(TOSSES)]
    return [*zip(*(toss.to_bytes(math.ceil(coins / CHUNK), "little") for toss in tosses), strict=True)]


def _sums(shares: Sequence[float], tosses: Sequence[tuple[int, ...]]) -> list[float]:
    """Sum of the shares after each change of signs, read from tables of `CHUNK` coins each."""
    tables = [_table(shares[start : start + CHUNK]) for start in range(0, len(shares), CHUNK)]
    parts = (map(table.__getitem__, chunk) for table, chunk in zip(tables, tosses, strict=True))
    return [*map(sum, zip(*parts, strict=True))]


def _table(shares: Sequence[float]) -> list[float]:
    sums = [0.0]
    for share in shares:
        sums = [*(total + share for total in sums), *(total - share for total in sums)]
    return sums
