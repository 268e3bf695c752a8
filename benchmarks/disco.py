"""DISCO's bars: a classifier trained in this run against every other way to stop, on unseen prompts.

    ./drafthouse bench disco [--target MODEL --draft MODEL] [--train 500] [--limit 40] [--repeats 2] [--json FILE]

For the pair's default sampling and for greedy decoding: train on one split, choose every setting on the second by
replay, run all of them side by side on the third. Then the same classifier on prompts of another kind. A figure is the
median over prompts of paired ratios; on a shared machine no other figure means anything.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from worker.terminal.bench import parser_of
from worker.terminal.ending import ended
from worker.terminal.material import STARTER
from worker.terminal.options import count_of


def run_all(argv: Sequence[str]) -> None:
    parser = parser_of("bench disco", __doc__.splitlines()[0], takes_split=False)
    parser.set_defaults(threads=1, limit=40)
    parser.add_argument("--train", type=count_of, default=500, metavar="N", help="prompts to train on, at most")
    parser.add_argument("--other", type=Path, default=STARTER / "prompts" / "prose.jsonl", metavar="FILE")
    parser.add_argument("--repeats", type=count_of, default=2, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole result")
    given = parser.parse_args(argv)
    from benchmarks._disco_bars import measure_all  # loads torch: --help must not need it

    measure_all(given)


if __name__ == "__main__":
    sys.exit(ended(run_all, sys.argv[1:]))
