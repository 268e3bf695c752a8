"""The engine's bars, side by side in one run: our engine and transformers on the same weights, prompts and threads.

    ./drafthouse bench engine [--target MODEL --draft MODEL] [--limit 12] [--repeats 3] [--threads 1] [--json FILE]

Every contestant decodes a prompt before the next prompt, in rotated order. A figure is the median, over prompts and
repeats, of ratios within one prompt; on a shared machine no other figure means anything. transformers runs in float32
and in bfloat16, and each ratio is to the faster of the two.
"""

from __future__ import annotations

import argparse
from pathlib import Path

STARTER = Path(__file__).parents[1] / "starter"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./drafthouse bench engine", description=__doc__.splitlines()[0])
    parser.add_argument("--target", type=Path, default=STARTER / "pair" / "target")
    parser.add_argument("--draft", type=Path, default=STARTER / "pair" / "draft")
    parser.add_argument("--prompts", type=Path, default=STARTER / "prompts" / "code.jsonl")
    parser.add_argument("--limit", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--max-new-tokens", type=int, default=96)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    given = arguments()
    from benchmarks._engine_bars import measure_all  # loads torch: --help must not need it

    measure_all(given)


if __name__ == "__main__":
    main()
