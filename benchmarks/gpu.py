"""The bars of a GPU: tokens per second relative to its memory bandwidth, our engine and transformers, and SSD with its
draft on host cores and on a second stream.

    ./drafthouse bench gpu [--device cuda:0] [--pairs starter,1B,8B] [--minutes 12] [--json FILE]

Weights are random, made on the device in bfloat16. The draft is the target's first layers; the later layers' output is
scaled down until draft and target agree about as often as real pairs do. Speed does not depend on the weights;
acceptance does, so it is printed. The starter pair is real, and small for a card. One sequence, greedy. The time limit
is for SSD, divided equally among the pairs; the rest takes some minutes.

With one sequence each pass reads every weight once, so the limit is bytes of weights divided by bandwidth, which is
measured here by copying.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from benchmarks._pair_shapes import PAIRS


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options = arguments(parser)
    from benchmarks._gpu_bars import measure_all  # loads torch: --help must not need it
    from decoding.errors import BadDevice
    from decoding.models.devices import device_called

    try:
        device = device_called(options.device)
    except BadDevice as error:
        parser.error(str(error))
    measure_all(device, options)


def arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    names = ("starter", *PAIRS)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--pairs", type=lambda text: text.split(","), default=names, help=f"some of {','.join(names)}")
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--prompt-tokens", type=int, default=128)
    parser.add_argument("--new-tokens", type=int, default=256)
    parser.add_argument("--minutes", type=float, default=12.0, help="time limit for SSD's comparisons")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/gpu.json"))
    options = parser.parse_args()
    unknown = [name for name in options.pairs if name not in names]
    if unknown:
        parser.error(f"There is no pair called {unknown[0]!r}. Pairs are {', '.join(names)}.")
    if min(options.minutes, options.prompts, options.prompt_tokens, options.new_tokens) <= 0:
        parser.error("--minutes, --prompts, --prompt-tokens and --new-tokens must be above 0.")
    return options


if __name__ == "__main__":
    main()
