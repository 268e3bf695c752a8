"""Our decoder beside llama.cpp, on the same weights and token ids: tokens per second, ratio, share of memory speed.

    ./drafthouse bench llamacpp --programs DIR [--models starter,100M,1B] [--dtypes float32,float16] [--threads 1,2]

DIR holds llama-server and llama-speculative-simple. Contestants take turns, prompt by prompt. Each turn decodes a
prompt twice, to one token and to N more, and the difference counts. Of all turns the least time counts. With one
thread ratios are by CPU time, which means something where other programs use the cores too; with several they are by
wall time, because a contestant may leave a core idle.
"""

from __future__ import annotations

import argparse
from pathlib import Path

MODELS = ("starter", "100M", "1B")
DTYPES = ("float32", "float16")


def listed(choices: tuple[str, ...]) -> object:
    def read(text: str) -> list[str]:
        names = text.split(",")
        if unknown := [name for name in names if name not in choices]:
            raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(choices)}")
        return names

    return read


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench llamacpp",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--programs", type=Path, required=True, metavar="DIR", help="llama.cpp's build/bin")
    parser.add_argument("--models", type=listed(MODELS), default=["starter", "100M"])
    parser.add_argument("--dtypes", type=listed(DTYPES), default=list(DTYPES))
    parser.add_argument("--threads", type=listed(("1", "2")), default=["1", "2"])
    parser.add_argument("--tokens", type=int, default=64, help="decoded in each turn (%(default)s)")
    parser.add_argument("--prompts", type=int, default=3, help="how many (%(default)s)")
    parser.add_argument("--turns", type=int, default=5, help="of every contestant on every prompt (%(default)s)")
    parser.add_argument(
        "--work", type=Path, default=Path("llamacpp"), help="folder for models that the benchmark makes"
    )
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    from benchmarks._llamacpp import measure_all  # loads torch: --help must not need it

    measure_all(asked)


if __name__ == "__main__":
    main()
