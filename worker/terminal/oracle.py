"""`./drafthouse oracle`: how long drafts ought to be on these prompts, as numbers, and as scripts that draw them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from decoding.choice import labelled, remarks_on
from decoding.papers.figure import Axis, Point, Series, plain
from decoding.papers.files import script
from decoding.replay.oracle import DRAFT_MODEL
from worker.jobs.oracle import AskOracle
from worker.terminal.bench import parser_of, read_recorded
from worker.terminal.files import require_folder, whole_file
from worker.terminal.guarded import command
from worker.terminal.options import count_of


def run(argv: Sequence[str]) -> None:
    parser = parser_of("oracle", "Show how long each draft ought to be: the oracle's lookahead, round by round.")
    parser.add_argument(
        "--lookahead", type=count_of, default=5, metavar="K", help="the static lookahead to draw beside"
    )
    parser.add_argument("--out", type=Path, default=Path("oracle"), metavar="DIR", help="where data and scripts go")
    args = parser.parse_args(argv)
    bench = read_recorded(args)
    require_folder(args.out)

    from worker.terminal.studying import carry_out  # loads torch: slips are told before that

    found = carry_out(AskOracle(bench.pair, bench.prompts, bench.sampling, args.lookahead), bench)
    write(found, args.out)
    print(summary(found))
    print(f"\nData, and scripts that draw them with matplotlib, are in {args.out}.")


def summary(found: Mapping[str, Any]) -> str:
    static = f"static:{found['one']['lookahead']}"
    rows = {
        "oracle, one sample": found["one"]["oracle"],
        f"{static}, one sample": found["one"]["static"],
        "oracle, all": found["oracle"],
        f"{static}, all": found["static"],
        **{f"oracle, {name}": passes for name, passes in found["sources"].items()},
    }
    lines = "\n".join(
        (
            f"Oracle lookahead over {found['samples']} samples: mean {found['mean']:.2f}, standard deviation "
            f"{found['deviation']:.2f}.",
            "",
            f"{'':30} {'target passes':>14} {'draft passes':>13} {'accepted':>9}",
            *(f"{name:30} {p['target']:14,} {p['draft']:13,} {p['accepted']:9,}" for name, p in rows.items()),
        )
    )
    notes = remarks_on(labelled(found["sources"]))
    if DRAFT_MODEL not in found["sources"]:
        notes.append("No draft was recorded: at each position both take the best copy.")
    return "\n\n".join([lines, *notes])


def _line(name: str, values: Sequence[float | None]) -> Series:
    """A series with one value for each step; None leaves it out."""
    points = [Point(step, value) for step, value in enumerate(values) if value is not None]
    return Series(name, "computed", points)


def _passes(name: str, count: Mapping[str, int]) -> str:
    return f"{name}: {count['target']:,} passes of the target, {count['draft']:,} of the draft"


def _pictures(found: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    one, by_progress, samples = found["one"], found["by_progress"], f"{found['samples']} samples"
    yield plain(
        "one-sample",
        "Oracle",
        f"Lookahead in each round of {one['prompt']}",
        Axis("round"),
        Axis("tokens"),
        [
            _line(_passes("oracle", one["oracle"]), one["lookaheads"]),
            _line(_passes(f"static:{one['lookahead']}", one["static"]), [one["lookahead"]] * len(one["lookaheads"])),
        ],
    )
    yield plain(
        "by-progress",
        "Oracle",
        f"Mean lookahead from the first round to the last, {samples}",
        Axis("progress through the sample, in twentieths"),
        Axis("tokens"),
        [_line("oracle", by_progress), _line(f"mean {found['mean']:.2f}", [found["mean"]] * len(by_progress))],
    )
    yield plain(
        "histogram",
        "Oracle",
        f"Rounds by their lookahead, {samples}",
        Axis("lookahead, tokens"),
        Axis("rounds"),
        [_line("oracle", found["histogram"])],
    )


def write(found: Mapping[str, Any], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    for picture in _pictures(found):
        with whole_file(out / f"{picture['slug']}.py") as file:
            file.write(script(picture))
    with whole_file(out / "oracle.json") as file:
        json.dump(found, file, indent=1)


if __name__ == "__main__":
    command(run)
