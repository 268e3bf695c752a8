"""One step of `bench card` in this process: `python -m benchmarks._card_step attend --pair 8B --rows FILE`."""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

import torch

from benchmarks._card import Card

STEPS = {
    "env": "_card_kernels.env",
    "queue": "_card_kernels.queue",
    "attend": "_card_kernels.attend",
    "products": "_card_kernels.products",
    "pass": "_card_passes.passes",
    "cores": "_card_texts.cores",
    "load": "_card_texts.load",
    "largest": "_card_texts.largest",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument("--rows", type=Path, required=True, help="file to append rows to")
    parser.add_argument("--pair", default="8B")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--cudnn", action="store_true", help="let torch choose cuDNN's attention")
    asked = parser.parse_args()
    card = Card(asked.rows, asked.pair, asked.tiny)
    torch.backends.cuda.enable_cudnn_sdp(asked.cudnn)
    module, _, function = STEPS[asked.step].partition(".")
    with torch.inference_mode():
        getattr(import_module(f"benchmarks.{module}"), function)(card)


if __name__ == "__main__":
    main()
