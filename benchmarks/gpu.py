"""The bars of a GPU: tokens per second relative to its memory bandwidth, our engine and transformers, and SSD with its
draft on host cores and on a second stream.

    ./drafthouse bench gpu [--device cuda:0] [--pairs starter,1B,8B] [--minutes 12] [--json FILE]
    python3 -m benchmarks.gpu …      without pip and network, in the repository's folder

Weights are random, made on the device in bfloat16. The draft is the target's first layers; the later layers' output is
scaled down until draft and target agree about as often as real pairs do. Speed does not depend on the weights;
acceptance does, so it is printed. The starter pair is real, and small for a card. One sequence, greedy. The time limit
is for SSD, divided equally among the pairs; the rest takes some minutes. Several pairs run one after the other, each in
a process of its own.

With one sequence each pass reads every weight once, so the limit is bytes of weights divided by bandwidth, which is
measured here by copying.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import _steps
from benchmarks._pair_shapes import PAIRS
from benchmarks._steps import Step

NAMES = ("starter", *PAIRS)
PLACEMENTS = ("beside", "two-streams")
BEFORE_SSD_S = 600.0  # most that making a pair and decoding with it may take


def main() -> int:
    options = arguments()
    if len(options.pairs) > 1:
        return _one_by_one(options)
    from benchmarks._gpu_bars import measure_one  # loads torch: --help must not need it

    measure_one(options.pairs[0], options.found_device, options)
    show(json.loads(options.json.read_text())["bars"])
    return 0


def _one_by_one(options: argparse.Namespace) -> int:
    """Measure each pair in a process of its own: what one leaves in memory, or breaks, is gone for the next."""
    minutes = options.minutes / len(options.pairs)
    numbers = ("prompts", "prompt_tokens", "new_tokens", "device")
    same = [part for name in numbers for part in (f"--{name.replace('_', '-')}", str(getattr(options, name)))]
    same += ["--minutes", str(minutes), *(["--placements", ",".join(options.placements)] if options.placements else [])]
    limit_s = BEFORE_SSD_S + 60 * minutes
    own = (sys.executable, "-m", "benchmarks.gpu", *same, "--json", "{found}")
    steps = [Step(name, (*own, "--pairs", name), limit_s) for name in options.pairs]
    with tempfile.TemporaryDirectory() as folder:
        failed = _steps.run(steps, Path(folder), len(steps) * limit_s / 60)
        results = [_steps.read(Path(folder), step) for step in steps]
    found = [result.get("found", {}) for result in results if result]
    whole = {key: value for one in found for key, value in one.items()}
    pairs = {name: pair for one in found for name, pair in one.get("pairs", {}).items()}
    checked = [bar for one in found for bar in one.get("bars", [])]
    states = {result["step"]: result["state"] for result in results if result}
    _steps.write(options.json, whole | {"pairs": pairs, "bars": checked, "states": states})
    show(checked)
    return 1 if failed else 0


def show(bars: Sequence[dict[str, Any]]) -> None:
    for bar in bars:
        mark = "" if not bar["counts"] else "met" if bar["value"] >= bar["at_least"] else "MISSED"
        print(f"{bar['bar']:55} {bar['value']:6.2f}  (bar {bar['at_least']})  {mark}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench gpu", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--pairs", type=listed, default=("starter", "1B", "8B"), help=f"some of {','.join(NAMES)}")
    parser.add_argument("--placements", type=listed, help="of SSD: beside, two-streams; made pairs leave beside out")
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument(
        "--prompt-tokens", type=int, default=260, help="with --new-tokens at most 512: one size of pass"
    )
    parser.add_argument("--new-tokens", type=int, default=240)
    parser.add_argument("--minutes", type=float, default=12.0, help="time limit for SSD's comparisons")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/gpu.json"))
    options = parser.parse_args()
    check(parser, options)
    return options


def listed(text: str) -> list[str]:
    return text.split(",")


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuse what cannot be run, before anything runs."""
    for known, given, kind in ((NAMES, options.pairs, "pair"), (PLACEMENTS, options.placements or (), "placement")):
        unknown = [name for name in given if name not in known]
        if unknown:
            parser.error(f"There is no {kind} called {unknown[0]!r}. There are {', '.join(known)}.")
    if min(options.minutes, options.prompts, options.prompt_tokens, options.new_tokens) <= 0:
        parser.error("--minutes, --prompts, --prompt-tokens and --new-tokens must be above 0.")
    from decoding.errors import BadDevice
    from decoding.models.devices import device_called  # loads torch: --help must not need it

    try:
        options.found_device = device_called(options.device)
    except BadDevice as error:
        parser.error(str(error))


if __name__ == "__main__":
    sys.exit(main())
