"""`./drafthouse oracle`: how long drafts ought to be on these prompts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from decoding.choice import labelled, remarks_on
from decoding.replay.oracle import DRAFT_MODEL
from worker.jobs.oracle import AskOracle
from worker.terminal.bench import parser_of, read_recorded
from worker.terminal.files import require_folder, whole_file
from worker.terminal.guarded import command
from worker.terminal.options import count_of
from worker.terminal.studying import carry_out


def run(argv: Sequence[str]) -> None:
    parser = parser_of("oracle", "Show how long each draft ought to be: the oracle's lookahead, round by round.")
    parser.add_argument(
        "--lookahead", type=count_of, default=5, metavar="K", help="the static lookahead to count beside"
    )
    parser.add_argument("--out", type=Path, default=Path("oracle"), metavar="DIR", help="where oracle.json goes")
    args = parser.parse_args(argv)
    bench = read_recorded(args)
    require_folder(args.out)

    found = carry_out(AskOracle(bench.pair, bench.prompts, bench.sampling, args.lookahead), bench)
    args.out.mkdir(parents=True, exist_ok=True)
    with whole_file(args.out / "oracle.json") as file:
        json.dump(found, file, indent=1)
    print(summary(found))
    print(f"\nEach round's lookahead is in {args.out / 'oracle.json'}.")


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


if __name__ == "__main__":
    command(run)
