"""`./drafthouse oracle`: how long drafts ought to be on these prompts, as numbers and as pictures."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from decoding.replay.oracle import DRAFT_MODEL, Analysis, Passes, analyse
from decoding.strategies import remarks_on
from worker.terminal.bench import parser_of, read_recorded
from worker.terminal.files import require_folder, whole_file
from worker.terminal.guarded import guarded
from worker.terminal.pictures import bars, steps
from worker.terminal.values import count_of


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

    from decoding.disco.making import Step  # loads torch: slips are told before that
    from decoding.replay.planning import study
    from worker.terminal.studying import StepLines, loaded

    steps, due = StepLines(), len(bench.prompts)
    pair = loaded(bench).pair
    recorded = study(
        pair, bench.prompts, bench.sampling, tails=False, on_progress=lambda n: steps(Step("recording", n, due))
    )
    steps.close()
    names = [recording.prompt for recording in recorded.recordings]
    found = analyse(names, recorded.drafted, args.lookahead, recorded.copied)
    write(found, args.out, pair.draft_left_out)
    print(summary(found))
    print(f"\nPictures and data are in {args.out}.")


def summary(found: Analysis) -> str:
    rows = [
        ("oracle, one sample", found.one.oracle),
        (f"static:{found.one.lookahead}, one sample", found.one.static),
        ("oracle, all", found.oracle),
        (f"static:{found.one.lookahead}, all", found.static),
        *((f"oracle, {name}", passes) for name, passes in found.sources.items()),
    ]
    lines = "\n".join(
        (
            f"Oracle lookahead over {found.samples} samples: mean {found.mean:.2f}, standard deviation "
            f"{found.deviation:.2f}.",
            "",
            f"{'':30} {'target passes':>14} {'draft passes':>13} {'accepted':>9}",
            *(_row(name, passes) for name, passes in rows),
        )
    )
    notes = remarks_on(name.partition(":")[0] for name in found.sources)
    if DRAFT_MODEL not in found.sources:
        notes.append("No draft was recorded: at each position both take the best copy.")
    return "\n\n".join([lines, *notes])


def _row(name: str, passes: Passes) -> str:
    return f"{name:30} {passes.target:14,} {passes.draft:13,} {passes.accepted:9,}"


def _passes(count: Passes) -> str:
    return f"{count.target:,} and {count.draft:,}"


def write(found: Analysis, out: Path, draft_left_out: str = "") -> None:
    out.mkdir(parents=True, exist_ok=True)
    one = found.one
    pictures = {
        "one-sample.svg": steps(
            one.lookaheads,
            level=one.lookahead,
            level_name=f"static:{one.lookahead}",
            title=f"Oracle lookahead in each round of {one.prompt}, tokens",
            across=f"round (passes of target and draft: oracle {_passes(one.oracle)}, "
            f"static:{one.lookahead} {_passes(one.static)})",
        ),
        "by-progress.svg": steps(
            found.by_progress,
            level=found.mean,
            level_name=f"mean {found.mean:.2f}",
            title=f"Mean oracle lookahead from the first round to the last, tokens, {found.samples} samples",
            across="progress through the sample, in twentieths",
        ),
        "histogram.svg": bars(
            found.histogram,
            title=f"Rounds by their oracle lookahead, {found.samples} samples",
            across="oracle lookahead, tokens",
        ),
    }
    for name, picture in pictures.items():
        with whole_file(out / name) as file:
            file.write(picture)
    with whole_file(out / "oracle.json") as file:
        json.dump({**dataclasses.asdict(found), "draft_left_out": draft_left_out}, file, indent=1)


def main() -> int:
    from worker.terminal.ending import ended

    return ended(run, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(guarded(main))
