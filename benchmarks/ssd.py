"""SSD's bars: against static lookaheads tuned as thoroughly, on one core and on both.

    ./drafthouse bench ssd --defaults                 # the defaults alone, in 12 minutes
    ./drafthouse bench ssd [--quick] [--limit 12] [--repeats 2] [--minutes 30] [--classifier DIR] [--json FILE]

All settings of SSD and of static run on validation prompts; the fastest of each kind run again on test prompts, which
alone decide bars and tables. Every contestant decodes a prompt before the next prompt, in rotated order. A figure is
the median, over prompts and repeats, of ratios within one prompt, with a 95 % bootstrap interval; on a shared machine
no other figure means anything. SSD has one core for the target and one for the draft, so it is compared with static
lookaheads on one core (the other idle, as the paper counts), on both, and per core.
"""

from __future__ import annotations

import argparse
from pathlib import Path

STARTER = Path(__file__).parents[1] / "starter"


def main() -> None:
    parser = argparse.ArgumentParser(prog="./drafthouse bench ssd", description=__doc__.splitlines()[0])
    given = arguments(parser)
    from benchmarks._ssd_bars import measure_all  # loads torch: --help must not need it

    measure_all(given, parser.error)


def arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    parser.add_argument("--target", type=Path, default=STARTER / "pair" / "target")
    parser.add_argument("--draft", type=Path, default=STARTER / "pair" / "draft")
    parser.add_argument("--prompts", type=Path, default=STARTER / "prompts" / "code.jsonl")
    parser.add_argument(
        "--classifier", type=Path, help="folder that train-disco wrote; without it, the bench trains one"
    )
    parser.add_argument("--train", type=int, help="prompts for training; 0 leaves ssd-disco out")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--max-new-tokens", type=int)
    parser.add_argument("--minutes", type=float, help="time limit, kept by running fewer prompts; 30 by default")
    parser.add_argument("--quick", action="store_true", help="few settings on few prompts, for a first look")
    parser.add_argument(
        "--defaults", action="store_true", help="only the defaults of ssd and disco, beside what might be better"
    )
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    usual = {"train": 0, "limit": 3, "repeats": 1, "max_new_tokens": 64, "minutes": 2.0}
    if given.defaults:
        given.classifier = given.classifier or STARTER / "pair" / "disco"
    short = {"train": 0, "limit": 48, "repeats": 1, "max_new_tokens": 128, "minutes": 11.0}
    full = {"train": 250, "limit": 16, "repeats": 2, "max_new_tokens": 96, "minutes": 30.0}
    for name, value in (usual if given.quick else short if given.defaults else full).items():
        if getattr(given, name) is None:
            setattr(given, name, value)
        if getattr(given, name) < (name != "train"):
            parser.error(f"--{name.replace('_', '-')} must be at least {int(name != 'train')}.")
    return given


if __name__ == "__main__":
    main()
