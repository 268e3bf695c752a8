"""`./drafthouse oracle`: how long drafts ought to be on these prompts, as numbers and as pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from decoding.choice import labelled, remarks_on
from decoding.papers.figure import Axis, Point, Series
from decoding.papers.files.plate import plate
from decoding.papers.files.svg import svg
from decoding.replay.oracle import DRAFT_MODEL
from worker.jobs.oracle import AskOracle
from worker.terminal.bench import parser_of, read_recorded
from worker.terminal.files import require_folder, whole_file
from worker.terminal.guarded import command
from worker.terminal.options import count_of


def run(argv: Sequence[str]) -> None:
    parser = parser_of("oracle", "Show how long each draft ought to be: the oracle's lookahead, round by round.")
    parser.add_argument("--split", choices=("train", "validation", "test"), help="only the prompts of this split")
    parser.add_argument(
        "--lookahead", type=count_of, default=5, metavar="K", help="the static lookahead to draw beside"
    )
    parser.add_argument("--out", type=Path, default=Path("oracle"), metavar="DIR", help="where pictures and data go")
    args = parser.parse_args(argv)
    bench = read_recorded(args, args.split)
    require_folder(args.out)

    from worker.terminal.studying import carry_out  # loads torch: slips are told before that

    found = carry_out(AskOracle(bench.pair, bench.prompts, bench.sampling, args.lookahead), bench)
    write(found, args.out)
    print(summary(found))
    print(f"\nPictures and data are in {args.out}.")


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


def _picture(title: str, across: str, up: str, *lines: Series) -> str:
    """A picture in the look of the papers' figures."""
    axes = {"x": asdict(Axis(across)), "y": asdict(Axis(up))}
    return svg(plate({"number": "Oracle", "title": title, **axes, "series": [asdict(line) for line in lines]}))


def _passes(name: str, count: Mapping[str, int]) -> str:
    return f"{name}: {count['target']:,} passes of the target, {count['draft']:,} of the draft"


def write(found: Mapping[str, Any], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    one = found["one"]
    lookaheads, by_progress = one["lookaheads"], found["by_progress"]
    pictures = {
        "one-sample.svg": _picture(
            f"Lookahead in each round of {one['prompt']}",
            "round",
            "tokens",
            _line(_passes("oracle", one["oracle"]), lookaheads),
            _line(_passes(f"static:{one['lookahead']}", one["static"]), [one["lookahead"]] * len(lookaheads)),
        ),
        "by-progress.svg": _picture(
            f"Mean lookahead from the first round to the last, {found['samples']} samples",
            "progress through the sample, in twentieths",
            "tokens",
            _line("oracle", by_progress),
            _line(f"mean {found['mean']:.2f}", [found["mean"]] * len(by_progress)),
        ),
        "histogram.svg": _picture(
            f"Rounds by their lookahead, {found['samples']} samples",
            "lookahead, tokens",
            "rounds",
            _line("oracle", found["histogram"]),
        ),
    }
    for name, picture in pictures.items():
        with whole_file(out / name) as file:
            file.write(picture)
    with whole_file(out / "oracle.json") as file:
        json.dump(found, file, indent=1)


if __name__ == "__main__":
    command(run)
