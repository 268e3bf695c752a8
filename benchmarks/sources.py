"""Worth of each source of drafts, by prompt set: copies, the draft model, and `hybrid`, which chooses between them.

    ./drafthouse bench sources [--limit 24] [--threads 1] [--sets code,prose,edits,json,quotes] [--wide 1] [--card CARD]

Runs every strategy in turns on prompts of the test split, at the pair's sampling and greedily. `--prompts FILE` takes
the place of the sets. Prints tokens per second, `hybrid` and `disco-hybrid` over the better of their sources, how much
of the gap from there to the bound they close, and prompt lookup over that of transformers. `--wide 8` writes the same
texts with a target whose passes are bound by memory, as those of large models are. With `--card` nothing is timed:
recorded texts are replayed at the prices of another machine, and both are compared with the best settings of their
sources there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from decoding.prices.machine_card import card_called
from worker.terminal.bench import parser_of
from worker.terminal.ending import ended
from worker.terminal.values import count_of

SETS = ("code", "prose", "edits", "json", "quotes")


def run_all(argv: Sequence[str]) -> None:
    parser = parser_of("bench sources", __doc__.splitlines()[0])
    parser.set_defaults(threads=1, limit=24)
    parser.add_argument("--sets", default=",".join(SETS), help="prompt sets in the box (%(default)s)")
    parser.add_argument(
        "--wide", type=count_of, default=1, help="how many times as wide the target's MLPs are, by zeros"
    )
    parser.add_argument("--card", type=card_called, help="a machine card: its name, or a file")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole result")
    given = parser.parse_args(argv)
    given.sets = given.sets.split(",")
    if strange := [name for name in given.sets if name not in SETS]:
        parser.error(f"There is no prompt set {strange[0]!r} in the box. Choose from {', '.join(SETS)}.")
    from benchmarks._source_bars import measure_all  # loads torch: --help must not need it

    measure_all(given)


if __name__ == "__main__":
    sys.exit(ended(run_all, sys.argv[1:]))
