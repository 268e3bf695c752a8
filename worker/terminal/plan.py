"""`./drafthouse plan`: which strategy and which settings suit this pair, these prompts and this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from decoding.choice import Choice, remarks_on
from decoding.core.load import Load, loads
from decoding.measure.crossover import paying
from decoding.measure.summary import so_few
from decoding.words import change
from worker.jobs.plan import MakePlan
from worker.terminal.bench import parser_of, read_recorded
from worker.terminal.files import whole_file
from worker.terminal.guarded import command
from worker.terminal.options import count_of, list_of
from worker.terminal.studying import carry_out


def run(argv: Sequence[str]) -> None:
    parser = parser_of(
        "plan",
        "Record a pair on prompts once, price every setting by replay or, if it prepares ahead, by simulation, and run "
        "the best of each strategy to see whether it keeps the promise.",
    )
    parser.add_argument(
        "--load",
        type=list_of(count_of),
        default=[],
        metavar="LIST",
        help="users at once, such as 1,4,16: the best strategy at each, and where speculation stops paying",
    )
    parser.add_argument(
        "--json",
        type=Path,
        metavar="FILE",
        help="write the plan as REST gives it; with --load it then also holds the plan for one user",
    )
    bench = read_recorded(given := parser.parse_args(argv))
    loads(given.load, [])  # refuses what cannot be

    users = tuple(sorted(given.load))
    with whole_file(given.json) if given.json else nullcontext() as file:
        order = MakePlan(bench.pair, bench.prompts, bench.sampling, users, for_one=not users or file is not None)
        found = carry_out(order, bench)
        print("\n".join(as_text(found)))
        if file:
            json.dump(found, file, indent=1)


def as_text(found: Mapping[str, Any]) -> Iterator[str]:
    yield from remarks(found)
    if found["at_load"]:
        yield from lines_at_load(found["at_load"])
    if "settings" in found:
        yield from ["", "For one user:", ""] if found["at_load"] else []
        yield from table(found["settings"])
        yield from remarks_on(map(Choice.of, found["settings"]))
        yield from ["", found["context"]["sentence"]]
        yield from ["", *elsewhere(found)]
    if found["noise"]:
        yield f"\nNoisy: {found['noise']} Repeat it on a quiet machine before you rely on these figures."


def remarks(found: Mapping[str, Any]) -> list[str]:
    """List what to know before the figures: a doubt about the classifier, and the strategies that are left out."""
    missing = [f"Left out: {slug} ({why})." for slug, why in found["left_out"].items()]
    return [*filter(None, [found["misfit"]]), *missing]


HEAD = f"{'setting':28} {'predicted':>9} {'measured':>9} {'off by':>8}   95 % interval"


def table(settings: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """A table of promise and truth."""
    yield HEAD
    yield from (_line(row["label"], row, "a bound, not run") for row in settings)


def _line(label: str, row: Mapping[str, Any], not_run: str) -> str:
    words, gain = f"{label:28} {row['speedup']:9.2f}", row["measured"]
    if gain is None:
        return f"{words} {'':>9} {'':>8}   {not_run}"
    few, median = gain["low"] is None, gain["ratio"]
    interval = f"none of {so_few(gain['prompts'])}" if few else f"{gain['low']:.2f} to {gain['high']:.2f}"
    return f"{words} {median:9.2f} {change(row['speedup'] / median, 1):>8}   {interval}"


def lines_at_load(found: Mapping[str, Any]) -> Iterator[str]:
    """Yield a plan for numbers of users as lines."""
    yield HEAD
    for users in found["users"]:
        yield from ("", str(Load(users)))
        yield from (_line(f"  {row['label']}", row, "not run") for row in found["rows"] if row["users"] == users)
    yield ""
    yield from remarks_on(map(Choice.of, found["rows"]))
    yield from (paying(crossover) for crossover in found["crossovers"])
    if found["planned"]:
        yield from ("", f"As a schedule: {found['planned']}")
    yield from ("", *elsewhere(found))
    if not found["elsewhere"]:
        yield "  Nothing: no fixed lookahead and no copy is a gain at these loads."


def elsewhere(found: Mapping[str, Any]) -> Iterator[str]:
    """The same settings in other engines' words."""
    yield "To set elsewhere (passes cost differently there, so take these as where to start searching):"
    for one in found["elsewhere"]:
        setting = f", as {one['of']}" if "of" in one else ""
        yield from (
            f"  {one['engine']}{setting}:",
            f"    {one['setting']}",
            *([f"    {one['note']}"] if one["note"] else []),
        )


if __name__ == "__main__":
    command(run)
