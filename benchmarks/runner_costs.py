"""What one forward pass costs, by the number of rows: our runner beside plain transformers, interleaved in one run.

    .venv/bin/python -m benchmarks.runner_costs MODEL_FOLDER [--threads 1] [--text 256] [--json FILE]

The verification of k drafted tokens is a pass of k + 1 rows. Minimum and median are printed; on a shared machine only
ratios within one run mean anything.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import DynamicCache

from decoding.checkpoints import load
from decoding.devices import device_called, set_threads, wait_for
from decoding.runner import ModelRunner
from decoding.transformers_runner import TransformersRunner

ROWS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24)


def of_runner(runner: ModelRunner, text: list[int]) -> Callable[[int], float]:
    """Seconds for a pass of so many rows after the text."""
    runner.extend(text)

    def cost(rows: int) -> float:
        runner.rewind(len(text))
        wait_for(runner.device)
        start = time.perf_counter()
        runner.extend(text[:rows], rows)
        wait_for(runner.device)
        return time.perf_counter() - start

    return cost


def of_branches(runner: ModelRunner, text: list[int]) -> Callable[[int], float]:
    """Seconds for one step of so many branches at the end of the text."""

    def cost(rows: int) -> float:
        runner.rewind(len(text))
        branches = runner.fork([len(text)] * rows)
        branches.extend(text[:rows])
        wait_for(runner.device)
        start = time.perf_counter()
        branches.extend(text[:rows])
        wait_for(runner.device)
        return time.perf_counter() - start

    return cost


def of_transformers(model: Any, text: list[int]) -> Callable[[int], float]:
    cache = DynamicCache()
    with torch.inference_mode():
        model(torch.tensor([text], device=model.device), past_key_values=cache)

    @torch.inference_mode()
    def cost(rows: int) -> float:
        ids = torch.tensor([text[:rows]], device=model.device)
        wait_for(model.device)
        start = time.perf_counter()
        model(ids, past_key_values=cache)
        wait_for(model.device)
        spent = time.perf_counter() - start
        cache.crop(-rows)
        return spent

    return cost


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="auto", choices=["auto", "float32", "bfloat16"])
    parser.add_argument("--text", type=int, default=128, help="tokens already cached")
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    set_threads(options.threads)
    device = device_called(options.device)
    ours = load(options.folder, dtype=options.dtype, device=device)
    text = [(7 * i + 3) % ours.folder.vocab_size for i in range(options.text)]
    costs = {"ours": of_runner(ours.runner, text), "branches": of_branches(ours.runner, text)}
    for dtype in ("float32", "bfloat16"):
        plain = load(options.folder, dtype=dtype, device=device, runner="transformers").runner
        assert isinstance(plain, TransformersRunner)
        costs[f"transformers {dtype}"] = of_transformers(plain.model, text)
    spent: dict[str, dict[int, list[float]]] = {name: {rows: [] for rows in ROWS} for name in costs}
    for _ in range(options.repeats):
        for rows in ROWS:
            for name, cost in costs.items():
                cost(rows)  # the others have filled the processor's caches with their own weights
                spent[name][rows].append(1e3 * cost(rows))
    print(ours.runner.facts)
    print(f"{'ms, minimum / median':24}" + "".join(f"{rows:>15}" for rows in ROWS))
    for name, by_rows in spent.items():
        cells = (f"{min(times):7.3f} {statistics.median(times):7.3f}" for times in by_rows.values())
        print(f"{name:24}" + "".join(cells))
    minima = {name: {rows: min(times) for rows, times in by_rows.items()} for name, by_rows in spent.items()}
    print(f"8 rows / 1 row: ours {minima['ours'][8] / minima['ours'][1]:.2f}")
    if options.json:
        medians = {n: {rows: statistics.median(times) for rows, times in by.items()} for n, by in spent.items()}
        found = {"facts": dataclasses.asdict(ours.runner.facts), "minimum_ms": minima, "median_ms": medians}
        options.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    main()
