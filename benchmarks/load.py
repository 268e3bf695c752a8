"""The bars under load: many texts at once, side by side in one run on the starter pair.

    ./drafthouse bench load [--loads 1,2,4,8,16] [--limit 24] [--tokens 64] [--repeats 1]
                            [--threads 1] [--json FILE]

Rows of different loads are compared within one run only. `worthless` runs a draft with shuffled weights, which the
target never believes. `replay` predicts each measured row from recordings of one user.
"""

from __future__ import annotations

import argparse
from pathlib import Path

STARTER = Path(__file__).parents[1] / "starter"
STEPS = ("loads", "transformers", "worthless", "replay", "tracing", "ssd")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./drafthouse bench load", description=__doc__.splitlines()[0])
    parser.add_argument("--loads", default="1,2,4,8,16", metavar="LIST")
    parser.add_argument("--strategies", default="static:1,static:2,static:4,static:6,disco,budget", metavar="LIST")
    parser.add_argument("--limit", type=int, default=24, help="prompts")
    parser.add_argument("--tokens", type=int, default=64, help="new tokens of each text")
    parser.add_argument("--repeats", type=int, default=1, help="how often the strategies of each load take turns")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", default=",".join(STEPS), help=f"of {', '.join(STEPS)}")
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    from benchmarks._load_bars import measure_all  # loads torch: --help must not need it

    measure_all(given)


if __name__ == "__main__":
    main()
