"""The bars of a GPU: tokens per second beside the memory bandwidth that limits them, and us beside transformers.

    .venv/bin/python -m benchmarks.gpu [--device cuda:0] [--pairs 1B,8B] [--json benchmarks/results/gpu.json]

Weights are random, made on the device in bfloat16. The draft is the target's first layers; what the later layers add is
scaled down until draft and target agree about as often as real pairs do. Speed does not depend on what the weights
are, acceptance does: it is printed. One sequence, greedy. Some minutes on one card.

At one sequence every weight is read once per pass, so the limit is bytes of weights over bandwidth; the bandwidth is
measured here, by copying.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from decoding.comparison import Comparison, Pair
from decoding.devices import device_called, name_of, wait_for
from decoding.fast.runner import FastRunner
from decoding.fast.shape import shape_of
from decoding.fast.weights import weights_of
from decoding.peers import TransformersPeer
from decoding.prompts import Prompt
from decoding.spec import Sampling, choose
from decoding.summary import Sample

AGREEMENT = 0.75  # how often draft and target name the same next token on random text
LLAMA = {"model_type": "llama", "tie_word_embeddings": False, "rms_norm_eps": 1e-5, "max_position_embeddings": 4096}


@dataclass(frozen=True)
class PairShape:
    """A target's sizes, how many of its first layers are the draft, and whether transformers runs beside it."""

    sizes: dict[str, int]
    draft_layers: int
    has_peer: bool

    @property
    def config(self) -> dict[str, Any]:
        return LLAMA | self.sizes


PAIRS = {
    "1B": PairShape(
        {
            "vocab_size": 128256,
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 16,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
        },
        draft_layers=2,
        has_peer=True,
    ),
    "8B": PairShape(
        {
            "vocab_size": 128256,
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
        },
        draft_layers=2,
        has_peer=False,
    ),
}


class Numbers:
    """A tokenizer for models that were never taught words: a text is its ids."""

    def encode(self, text: str) -> list[int]:
        return [int(word) for word in text.split()]

    def decode(self, tokens: Sequence[int]) -> str:
        return " ".join(map(str, tokens))


class ResidentPeer(TransformersPeer):
    """transformers on models that are on the device already."""

    def __init__(self, target: Any, draft: Any) -> None:
        self.target, self.draft, self.device = target, draft, target.device


def copy_bandwidth(device: torch.device, size: int = 2**31) -> float:
    """Bytes per second that a copy reads and writes, the best of ten."""
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


@torch.inference_mode()
def models(shape: PairShape, device: torch.device, dtype: torch.dtype) -> tuple[Any, Any]:
    """A target and the draft inside it, agreeing about as often as AGREEMENT."""
    torch.manual_seed(0)
    target, draft = (_model(shape.config | layers, device, dtype) for layers in ({}, _layers(shape.draft_layers)))
    _share(target, draft)
    late = target.model.layers[shape.draft_layers :]
    words = torch.randint(0, shape.config["vocab_size"], (1, 256), device=device)
    drafted = draft(words).logits.argmax(-1)
    low, high = 0.0, 1.0
    scale = 1.0  # of what the late layers add, so far
    for _ in range(12):
        middle = (low + high) / 2
        for layer in late:
            layer.self_attn.o_proj.weight.mul_(middle / scale)
            layer.mlp.down_proj.weight.mul_(middle / scale)
        scale = middle
        agreement = (target(words).logits.argmax(-1) == drafted).float().mean()
        low, high = (middle, high) if agreement > AGREEMENT else (low, middle)
    return target, draft


def _layers(count: int) -> dict[str, int]:
    return {"num_hidden_layers": count}


def _model(config: dict[str, Any], device: torch.device, dtype: torch.dtype) -> Any:
    fields = {key: value for key, value in config.items() if key != "model_type"}
    with device:
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(config["model_type"], **fields), dtype=dtype)
    return model.to(device).eval()


def _share(target: Any, draft: Any) -> None:
    """The draft's parameters become the target's own: no second copy."""
    draft.model.embed_tokens, draft.model.norm, draft.lm_head = (
        target.model.embed_tokens,
        target.model.norm,
        target.lm_head,
    )
    for number in range(len(draft.model.layers)):
        draft.model.layers[number] = target.model.layers[number]


def runner_of(model: Any, config: dict[str, Any], context: int, dtype: str) -> FastRunner:
    shape = shape_of(config)
    assert shape is not None
    return FastRunner(shape, weights_of(shape, model.state_dict()), dtype=dtype, context=context, device=model.device)


def bytes_per_pass(model: Any) -> int:
    """What one pass must read: every weight but the embedding, of which it needs one row."""
    read = [weight for name, weight in model.named_parameters() if "embed_tokens" not in name]
    return sum(weight.numel() * weight.element_size() for weight in read)


def measure(
    shape: PairShape, device: torch.device, dtype: torch.dtype, *, prompts: int, prompt_tokens: int, new_tokens: int
) -> dict[str, Any]:
    target, draft = models(shape, device, dtype)
    limit_bytes = bytes_per_pass(target)
    context = prompt_tokens + new_tokens + 64
    named = str(dtype).removeprefix("torch.")
    pair = Pair(
        runner_of(target, shape.config, context, named),
        runner_of(draft, shape.config | _layers(shape.draft_layers), context, named),
        Numbers(),
        frozenset(),
        dtype,
    )
    choices = [choose("autoregressive"), *(choose("static", {"lookahead": k}) for k in (3, 5))]
    if shape.has_peer:
        pair.peer = ResidentPeer(target, draft)
        choices += [choose("assisted", {"lookahead": k, "threshold": 0.0}) for k in (3, 5)]
    else:
        del target, draft  # the runners hold what they need
    ids = torch.randint(0, shape.config["vocab_size"], (prompts, prompt_tokens)).tolist()
    texts = [Prompt(str(number), " ".join(map(str, row))) for number, row in enumerate(ids)]
    sampling = Sampling(max_new_tokens=new_tokens, ignore_eos=True)
    comparison = Comparison(pair, texts, choices, sampling)
    comparison.warm_up()
    comparison.warm_up()  # a form is captured when it comes a second time
    samples = [sample for group in comparison.run() for sample in group]
    return {"bytes_per_pass": limit_bytes, "facts": vars(pair.target.facts), "strategies": _rows(samples)}  # type: ignore[attr-defined]


def _rows(samples: Sequence[Sample]) -> dict[str, dict[str, Any]]:
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


def bars(name: str, found: dict[str, Any], bandwidth: float) -> list[dict[str, Any]]:
    """The promises that this pair can keep or break."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--pairs", default="1B,8B")
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--prompt-tokens", type=int, default=128)
    parser.add_argument("--new-tokens", type=int, default=256)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/gpu.json"))
    options = parser.parse_args()
    device = device_called(options.device)
    bandwidth = copy_bandwidth(device)
    print(f"{name_of(device)}: a copy moves {bandwidth / 1e9:,.0f} GB/s")
    pairs, checked = {}, []
    for name in options.pairs.split(","):
        found = measure(
            PAIRS[name],
            device,
            torch.bfloat16,
            prompts=options.prompts,
            prompt_tokens=options.prompt_tokens,
            new_tokens=options.new_tokens,
        )
        pairs[name] = found
        print(f"\n{name}: {found['bytes_per_pass'] / 1e9:.2f} GB per pass")
        for label, row in found["strategies"].items():
            print(f"  {label:40} {row['tokens_per_s']:8.1f} tokens/s  accepted {row['acceptance_rate']}")
        checked += bars(name, found, bandwidth)
    print()
    for bar in checked:
        mark = "" if not bar["counts"] else "met" if bar["value"] >= bar["at_least"] else "MISSED"
        print(f"{bar['bar']:55} {bar['value']:6.2f}  (bar {bar['at_least']})  {mark}")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    result = {"device": name_of(device), "copy_bytes_per_s": bandwidth, "pairs": pairs, "bars": checked}
    options.json.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
