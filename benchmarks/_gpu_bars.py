"""Bars of a GPU, measured for `bench gpu`."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch

from benchmarks._card import datasheet_gbps
from benchmarks._made_pairs import bytes_per_pass, layers, models, runner_of
from benchmarks._pair_shapes import PAIRS, PairShape
from benchmarks._placements import PLACES, against_static, draft_process
from benchmarks._steps import write
from decoding.backends.contestants import transformers
from decoding.backends.pair import ModelPair
from decoding.choice import choose
from decoding.dice.sampling import Sampling
from decoding.measure.measurement import Measurement
from decoding.measure.sample import SampleResult
from decoding.models.checkpoints import load
from decoding.models.devices import name_of, wait_for
from decoding.prompts.prompt import PromptItem, read_prompts
from decoding.ssd.transport.draft_process import process_for

ON_CARD = ("two-streams",)  # of a made pair: a draft of its size takes 65 ms and more for a token on a host core

OnPart = Callable[[dict[str, Any]], None]

STARTER = Path(__file__).parents[1] / "starter"


class Numbers:
    """Tokenizer for untrained models: a text is its ids."""

    def encode(self, text: str) -> list[int]:
        return [int(word) for word in text.split()]

    def decode(self, tokens: Sequence[int]) -> str:
        return " ".join(map(str, tokens))


def copy_bandwidth(device: torch.device, size: int = 2**31) -> float:
    """Bytes per second that a copy reads and writes, the best of 10."""
    source = torch.ones(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    seconds = []
    for _ in range(10):
        wait_for(device)
        start = time.perf_counter()
        target.copy_(source)
        wait_for(device)
        seconds.append(time.perf_counter() - start)
    return 2 * size / min(seconds)


def measure(
    shape: PairShape,
    device: torch.device,
    dtype: torch.dtype,
    *,
    prompts: int,
    prompt_tokens: int,
    new_tokens: int,
    minutes: float,
    places: Collection[str] = tuple(PLACES),
    on_part: OnPart = lambda found: None,
) -> dict[str, Any]:
    """Measure a made pair. `on_part` gets what is known so far: the next part may not end."""
    target, draft = models(shape, device, dtype)
    limit_bytes = bytes_per_pass(target)
    context = prompt_tokens + new_tokens + 64
    named = str(dtype).removeprefix("torch.")
    draft_config = shape.config | layers(shape.draft_layers)
    pair = ModelPair(
        runner_of(target, shape.config, context, named),
        runner_of(draft, draft_config, context, named),
        Numbers(),
        frozenset(),
        dtype,
    )
    choices = [choose("autoregressive"), *(choose("static", {"lookahead": k}) for k in (3, 5))]
    if shape.has_peer:
        theirs = transformers.Transformers(pair)
        theirs.models = target, draft  # on the device already
        pair.contestants[transformers.__name__] = theirs
        choices += [choose("assisted", {"lookahead": k, "threshold": 0.0}) for k in (3, 5)]
    else:
        del target  # its runner holds what it needs
    ids = torch.randint(0, shape.config["vocab_size"], (prompts, prompt_tokens)).tolist()
    texts = [PromptItem(str(number), " ".join(map(str, row))) for number, row in enumerate(ids)]
    sampling = Sampling(max_new_tokens=new_tokens, ignore_eos=True)
    comparison = Measurement(pair, texts, choices, sampling)
    comparison.warm_up()
    samples = comparison.run()
    found = {
        "bytes_per_pass": limit_bytes,
        "facts": vars(pair.target.facts),  # type: ignore[attr-defined]
        "strategies": rows_of(samples),
    }
    on_part(found)
    is_beside = "beside" in places
    with draft_process(draft, draft_config, context, named) if is_beside else nullcontext() as pair.draft_process:
        found["ssd"] = against_static(pair, texts, sampling, minutes, told, places)
    return found


def measure_starter(
    device: torch.device, *, prompts: int, new_tokens: int, minutes: float, places: Collection[str]
) -> dict[str, Any]:
    """Measure SSD alone, with the shipped pair, on prompts that it was not trained on."""
    file = STARTER / "prompts" / "code.jsonl"
    texts = [prompt for prompt in read_prompts(file.read_text(), file.name) if prompt.split == "test"][:prompts]
    pair = starter_pair(device)
    try:
        return {"ssd": against_static(pair, texts, Sampling(max_new_tokens=new_tokens), minutes, told, places)}
    finally:
        pair.close()


def starter_pair(device: torch.device, beside: bool = True) -> ModelPair:
    """Load the shipped pair, and with `beside` its draft in a process on host cores too. The audit must know in which
    dtype it runs, or it would call ties divergent."""
    target, draft = (load(STARTER / "pair" / role, device=device) for role in ("target", "draft"))
    dtype = getattr(torch, target.runner.facts.dtype)
    pair = ModelPair(target.runner, draft.runner, target.tokenizer, frozenset(), dtype)
    if beside:
        pair.draft_process = process_for(STARTER / "pair" / "draft", "auto", draft.runner.context)
    return pair


def told(line: str) -> None:
    print(line, flush=True)


def rows_of(samples: Sequence[SampleResult]) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for label in dict.fromkeys(sample.strategy for sample in samples):
        own = [sample for sample in samples if sample.strategy == label]
        drafted = sum(sample.num_draft_tokens for sample in own)
        rows[label] = {
            "tokens_per_s": statistics.median(sample.tokens_per_s for sample in own),
            "acceptance_rate": sum(sample.num_accepted_draft_tokens for sample in own) / drafted if drafted else None,
            "audit": [sample.audit.outcome if sample.audit else None for sample in own],
        }
    return rows


def bars(
    name: str, found: dict[str, Any], bandwidth: float, datasheet_gbps: float | None = None
) -> list[dict[str, Any]]:
    """The bars that this pair can meet or miss, and beside the share of what a copy reaches that of the datasheet."""
    speeds = {label: row["tokens_per_s"] for label, row in found["strategies"].items()}
    rate = speeds["autoregressive"] * found["bytes_per_pass"]
    result = [
        {
            "bar": f"{name}: autoregressive of the memory-bandwidth limit",
            "value": rate / bandwidth,
            "at_least": 0.75,
            "counts": name == "8B",  # a small model is limited by launches, not by memory
        }
    ]
    if datasheet_gbps:
        share = rate / datasheet_gbps / 1e9
        result.append(
            {"bar": f"{name}: autoregressive of the datasheet", "value": share, "at_least": 0, "counts": False}
        )
    for k in (3, 5):
        ours, theirs = (
            next((speed for label, speed in speeds.items() if label.startswith(f"{s}:{k}")), None)
            for s in ("static", "assisted")
        )
        if ours and theirs:
            result.append(
                {"bar": f"{name}: static / assisted, k={k}", "value": ours / theirs, "at_least": 3.0, "counts": True}
            )
    return result


def measure_one(name: str, device: torch.device, options: argparse.Namespace) -> None:
    """Measure one pair, and write what is known after each part."""
    bandwidth = copy_bandwidth(device)
    told(f"{name}, {name_of(device)}: a copy moves {bandwidth / 1e9:,.0f} GB/s")
    result: dict[str, Any] = {"device": name_of(device), "copy_bytes_per_s": bandwidth}

    def keep(found: dict[str, Any]) -> None:
        checked = bars(name, found, bandwidth, datasheet_gbps(device)) if "strategies" in found else []
        write(options.json, result | {"pairs": {name: found}, "bars": checked})

    sizes = {"prompts": options.prompts, "new_tokens": options.new_tokens, "minutes": options.minutes}
    if name == "starter":
        keep(measure_starter(device, **sizes, places=options.placements or tuple(PLACES)))
        return
    sizes |= {"prompt_tokens": options.prompt_tokens}
    found = measure(PAIRS[name], device, torch.bfloat16, **sizes, places=options.placements or ON_CARD, on_part=keep)
    keep(found)
    told(f"  {found['bytes_per_pass'] / 1e9:.2f} GB per pass")
    for label, row in found["strategies"].items():
        told(f"  {label:40} {row['tokens_per_s']:8.1f} tokens/s  accepted {row['acceptance_rate']}")
