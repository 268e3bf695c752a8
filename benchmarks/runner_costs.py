"""Time one forward pass by its number of rows: our runner and plain transformers, interleaved in one run.

    .venv/bin/python -m benchmarks.runner_costs MODEL_FOLDER [--threads 1] [--text 128] [--json FILE]

The verification of k drafted tokens is a pass of k + 1 rows. Prints minimum and median; on a shared machine only ratios
within one run mean anything.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench runner_costs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--text", type=int, default=128, help="tokens already cached")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    from benchmarks._forward_passes import measure_all  # loads torch: --help must not need it

    measure_all(asked)


if __name__ == "__main__":
    main()
