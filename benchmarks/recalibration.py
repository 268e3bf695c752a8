"""Cost of a classifier from elsewhere: another sampling, another prompt set, prices taken on a busy machine.

    ./drafthouse bench recalibration [--train 150] [--limit 40] [--run 12] [--json FILE]

Records code and prose, greedy and at the pair's sampling, and trains both of our networks on each. Then, by replay on
test prompts: the priced rule with every classifier on every kind of text, with recalibration and as trained, over the
best plain rule that validation prompts chose. A second price is taken while other processes use the machine, and two
cards have the draft's price 4 times too high or low. Last, one interleaved run weighs its passes and confirms the worst
cases. Passes cost what the card of the pair's own classifier says. If the pair has
none, they cost what is measured here.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from worker.terminal.bench import parser_of
from worker.terminal.ending import ended
from worker.terminal.material import STARTER
from worker.terminal.values import count_of


def run_all(argv: Sequence[str]) -> None:
    parser = parser_of("bench recalibration", __doc__.splitlines()[0])
    parser.set_defaults(threads=1, limit=40)
    parser.add_argument("--train", type=count_of, default=150, metavar="N", help="prompts to train on, at most")
    parser.add_argument("--other", type=Path, default=STARTER / "prompts" / "prose.jsonl", metavar="FILE")
    parser.add_argument("--run", type=count_of, default=12, metavar="N", help="test prompts of the interleaved run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole result")
    given = parser.parse_args(argv)
    from benchmarks._recalibration_bars import measure_all  # loads torch: --help must not need it

    measure_all(given)


if __name__ == "__main__":
    sys.exit(ended(run_all, sys.argv[1:]))
