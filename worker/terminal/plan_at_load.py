"""`./drafthouse plan --load 1,4,16`: the best strategy for each number of users, the crossover, and what to set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from decoding.choice import Choice, remarks_on
from decoding.core.load import Load
from decoding.measure.crossover import paying
from decoding.words import change


def lines_at_load(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield a plan for numbers of users as lines."""
    yield f"{'setting':28} {'predicted':>9} {'measured':>9} {'off by':>8}   95 % interval"
    for users in found["users"]:
        yield from ("", str(Load(users)))
        yield from (_line(row) for row in found["rows"] if row["users"] == users)
    yield ""
    yield from remarks_on(map(Choice.of, found["rows"]))
    yield from (paying(crossover) for crossover in found["crossovers"])
    if found["planned"]:
        yield from ("", f"As a schedule: {found['planned']}")
    yield from ("", "To set elsewhere (start searching from there):")
    for one in found["elsewhere"]:
        yield from (f"  {one['engine']}:", f"    {one['setting']}", *([f"    {one['note']}"] if one["note"] else []))
    if not found["elsewhere"]:
        yield "  Nothing: no fixed lookahead and no copy is a gain at these loads."


def _line(row: Mapping[str, Any]) -> str:
    gain, words = row["measured"], f"  {row['label']:26} {row['speedup']:9.2f}"
    if not gain:
        return f"{words} {'not run':>9}"
    words += f" {gain['ratio']:9.2f}"
    off = f"{words} {change(row['speedup'] / gain['ratio'], 1):>8}"
    return off if gain["low"] is None else f"{off}   {gain['low']:.2f} to {gain['high']:.2f}"
