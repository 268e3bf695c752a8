"""Parts of a step of `bench card`, in this process: `python -m benchmarks._card_step pass texts --pair 8B --rows FILE`.

A part that fails writes its error as a row and leaves the next part to run."""

from __future__ import annotations

import argparse
import gc
import sys
from importlib import import_module
from pathlib import Path

import torch

from benchmarks._card import Card

PARTS = {
    "env": "_card_kernels.env",
    "queue": "_card_kernels.queue",
    "kernels": "_card_kernels.kernels",
    "attend": "_card_kernels.attend",
    "products": "_card_kernels.products",
    "pass": "_card_passes.passes",
    "texts": "_card_texts.texts",
    "cores": "_card_texts.cores",
    "load": "_card_texts.load",
    "starter": "_card_texts.starter",
    "disco": "_card_texts.disco",
    "tests": "_card_tests.tests",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", choices=PARTS)
    parser.add_argument("--rows", type=Path, required=True, help="file to append rows to")
    parser.add_argument("--pair", default="8B")
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--cudnn", action="store_true", help="let torch choose cuDNN's attention")
    asked = parser.parse_args()
    card = Card(asked.rows, asked.pair, asked.tiny)
    torch.backends.cuda.enable_cudnn_sdp(asked.cudnn)
    return 0 if all([ran(card, part) for part in asked.parts]) else 1


def ran(card: Card, part: str) -> bool:
    module, _, function = PARTS[part].partition(".")
    try:
        with torch.inference_mode():
            getattr(import_module(f"benchmarks.{module}"), function)(card)
    except Exception as error:
        card.fails(error, part=part)
    if card.device.type == "cuda":
        gc.collect()  # passes hold their own graphs, so only the collector frees a model's memory
        torch.cuda.empty_cache()
    return not card.has_failed


if __name__ == "__main__":
    sys.exit(main())
