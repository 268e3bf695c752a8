"""Bounds on the numbers of a config.json, checked before anything is built from them. Standard library only.

The largest existing models lie far within the bounds. A number beyond them means a damaged file or an attack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from decoding.errors import BadCheckpoint

Bounds = tuple[float, float]
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
WIDTHS = ("hidden_size", "n_embd", "d_model", "dim")
CONTEXTS = ("max_position_embeddings", "n_positions", "seq_length", "n_ctx", "max_seq_len")
VOCABULARY = ("vocab_size",)
LENGTH = (1, 1 << 24)  # tokens
WHOLE: dict[str, Bounds] = {
    **dict.fromkeys(LAYERS, (1, 10_000)),
    **dict.fromkeys(WIDTHS, (1, 1 << 20)),
    **dict.fromkeys(CONTEXTS, LENGTH),
    **dict.fromkeys(VOCABULARY, (1, 1 << 24)),
    **dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_key_value_heads", "head_dim"), (1, 1 << 16)),
    **dict.fromkeys(("intermediate_size", "n_inner", "ffn_dim", "moe_intermediate_size"), (1, 1 << 32)),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "num_experts_per_tok"), (0, 1 << 16)),
    **dict.fromkeys(("sliding_window", "window_size", "max_window_layers"), (0, 1 << 31)),
    "original_max_position_embeddings": LENGTH,
}
REAL: dict[str, Bounds] = {
    "rope_theta": (1.001, 1e15),
    **dict.fromkeys(("factor", "low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow"), (1e-3, 1e6)),
    **dict.fromkeys(("short_factor", "long_factor"), (1e-3, 1e6)),
    **dict.fromkeys(("attention_factor", "mscale", "mscale_all_dim", "short_mscale", "long_mscale"), (0, 1e6)),
    "partial_rotary_factor": (1e-3, 1),
    **dict.fromkeys(("rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon"), (0, 1)),
}
OTHERS: Bounds = (-(1 << 24), 1 << 24)  # of whole numbers that have neither of these names
UNBOUNDED = re.compile(r"(base|theta|seed)$")  # bases of angles, and seeds
COUNTS_LAYERS = re.compile(r"((^|_)(layers?|blocks?|depth)|^attention_types)$")
LONGEST_LIST = 1 << 16  # some numbers differ by layer, and a rope factor by pair of dimensions


def check_numbers(config: Mapping[str, Any], where: str) -> None:
    """Refuse the first number out of bounds, by its name. `where` names the file in the sentence."""
    for part in parts(config):
        for name, value in part.items():
            if bounds := WHOLE.get(name) or REAL.get(name):
                _check(_numbers(value), where, name, bounds, name in WHOLE)
            elif not UNBOUNDED.search(name):
                _check(whole_numbers(value), where, name, OTHERS, is_whole=True)
        if part.get("rope_type", part.get("type")) == "llama3" and _falls(part):
            raise BadCheckpoint(f"{where}: high_freq_factor must be larger than low_freq_factor. {REMEDY}")


def _check(numbers: Iterable[Any], where: str, name: str, bounds: Bounds, is_whole: bool) -> None:
    for number in numbers:
        if not _lies_within(number, bounds, is_whole):
            low, high = (f"{bound:,}" if isinstance(bound, int) else f"{bound:g}" for bound in bounds)
            kind = "a whole number" if is_whole else "a number"
            raise BadCheckpoint(f"{where} says {name} {number!r:.40}; it must be {kind} from {low} to {high}. {REMEDY}")


def whole_numbers(value: Any) -> Iterator[int]:
    """Yield a whole number, or those in a list and in its lists."""
    waiting = [value]
    while waiting:
        match waiting.pop():
            case bool():
                continue
            case int(number):
                yield number
            case list(inner):
                waiting += inner


def check_against_tensors(config: Mapping[str, Any], shapes: list[tuple[int, ...]], where: str) -> None:
    """Refuse a config with more layers than there are tensors, or wider than the widest tensor."""
    widest = max((size for shape in shapes for size in shape), default=0)
    for name, found in _counts_of_layers(config):
        if found > len(shapes):
            raise _of_another_model(where, name, found, f"the weights hold {len(shapes):,} tensors in all")
    for part in (config, text_part(config)):
        for name in WIDTHS + VOCABULARY:
            width = part.get(name)
            if isinstance(width, int) and width > widest:
                raise _of_another_model(where, name, width, f"no tensor of the weights is wider than {widest:,}")


def _counts_of_layers(config: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the numbers that name layers, under whichever name."""
    for part in parts(config):
        for name, value in part.items():
            if name in LAYERS or (name not in WHOLE and COUNTS_LAYERS.search(name)):
                yield from ((name, number) for number in whole_numbers(value))


def _of_another_model(where: str, name: str, found: int, what: str) -> BadCheckpoint:
    return BadCheckpoint(
        f"{where} says {name} {found:,}, and {what}. "
        "Config and weights belong to different models, or a file was not copied."
    )


def text_part(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Text model of a config with several parts; empty where there is none."""
    part = config.get("text_config")
    return part if isinstance(part, dict) else {}


def parts(value: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the config and every object in it."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            yield part
            waiting += part.values()


REMEDY = "Copy the file again from where the model came."


def _numbers(value: Any) -> list[Any]:
    if value is None or isinstance(value, Mapping):
        return []
    if isinstance(value, list):
        return value if len(value) <= LONGEST_LIST else [f"a list of {len(value):,}"]
    return [value]


def _lies_within(number: Any, bounds: Bounds, is_whole: bool) -> bool:
    if isinstance(number, bool):
        return number is False and bounds[0] == 0  # some configs switch a window off with false
    kinds = int if is_whole else (int, float)
    return isinstance(number, kinds) and bounds[0] <= number <= bounds[1]


def _falls(rope: Mapping[str, Any]) -> bool:
    low, high = rope.get("low_freq_factor"), rope.get("high_freq_factor")
    return isinstance(low, (int, float)) and isinstance(high, (int, float)) and high <= low
