"""Times of forward passes by their number of rows, for `bench runner_costs`."""

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

from decoding.models.checkpoints import load
from decoding.models.devices import device_called, set_threads, wait_for
from decoding.models.runner import ModelRunner
from decoding.models.transformers import TransformersRunner

Cost = Callable[[int], float]  # number of rows -> seconds
Times = dict[str, dict[int, list[float]]]
ROWS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24)


def of_runner(runner: ModelRunner, text: list[int]) -> Cost:
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


def of_branches(runner: ModelRunner, text: list[int]) -> Cost:
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


def of_transformers(model: Any, text: list[int]) -> Cost:
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


def candidates(folder: Path, device: torch.device, cached: int) -> tuple[dict[str, Cost], dict[str, Any]]:
    """Everything to time, and the facts about each of our runners."""
    costs: dict[str, Cost] = {}
    facts = {}
    for dtype in ("auto", "bfloat16"):
        ours = load(folder, dtype=dtype, device=device)
        text = [(7 * i + 3) % ours.folder.vocab_size for i in range(cached)]
        costs[f"ours, {dtype}"] = of_runner(ours.runner, text)
        costs[f"ours, {dtype}, branches"] = of_branches(ours.runner, text)
        facts[f"ours, {dtype}"] = dataclasses.asdict(ours.runner.facts)
    for dtype in ("float32", "bfloat16"):
        plain = load(folder, dtype=dtype, device=device, runner="transformers").runner
        assert isinstance(plain, TransformersRunner)
        costs[f"transformers, {dtype}"] = of_transformers(plain.model.module, text)
    return costs, facts


def measure(costs: dict[str, Cost], repeats: int) -> Times:
    spent: Times = {name: {rows: [] for rows in ROWS} for name in costs}
    for _ in range(repeats):
        for rows in ROWS:
            for name, cost in costs.items():
                cost(rows)  # refills the processor's caches with this model's weights
                spent[name][rows].append(1e3 * cost(rows))
    return spent


def show(spent: Times) -> None:
    print(f"{'ms, minimum / median':26}" + "".join(f"{rows:>15}" for rows in ROWS) + "  8 rows / 1")
    for name, by_rows in spent.items():
        cells = "".join(f"{min(times):7.3f} {statistics.median(times):7.3f}" for times in by_rows.values())
        print(f"{name:26}{cells}{min(by_rows[8]) / min(by_rows[1]):12.2f}")


def measure_all(options: argparse.Namespace) -> None:
    set_threads(options.threads)
    costs, facts = candidates(options.folder, device_called(options.device), options.text)
    for name, said in facts.items():
        print(f"{name}: {said}")
    spent = measure(costs, options.repeats)
    show(spent)
    if options.json:
        options.json.write_text(json.dumps({"facts": facts, "ms": spent}, indent=2) + "\n")
