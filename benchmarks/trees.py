"""Worth of trees: against the chain of as many drafted tokens on machine cards, and the same in one run here.

    ./drafthouse bench trees [--limit 8] [--threads 1] [--json FILE]

Records code and prose of the test split at the pair's sampling. Projects every size of tree and the chain of as many
tokens onto each card in the box, then predicts both at the prices of this machine, and runs some of them in turns to
check the prediction.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from worker.terminal.bench import parser_of
from worker.terminal.ending import ended
from worker.terminal.material import STARTER


def run_all(argv: Sequence[str]) -> None:
    parser = parser_of("bench trees", __doc__.splitlines()[0])
    parser.set_defaults(threads=1, limit=8)
    parser.add_argument("--other", type=Path, default=STARTER / "prompts" / "prose.jsonl", metavar="FILE")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the whole result")
    given = parser.parse_args(argv)
    from benchmarks._tree_bars import measure_all  # loads torch: --help must not need it

    measure_all(given)


if __name__ == "__main__":
    sys.exit(ended(run_all, sys.argv[1:]))
