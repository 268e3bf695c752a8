"""Steps of `bench card` that time single operations: small kernels, attention, matrix products."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks._card import Card
from decoding.dice import best
from decoding.models.fast.attention import Attend, attend_at_once, attend_in_steps

PACKAGES = ("transformers", "tokenizers", "numpy", "safetensors", "pytest", "triton")
VARIABLES = ("TORCH", "PYTORCH", "CUDA", "CUBLAS", "NVIDIA_TF32", "OMP")
SLOTS = (256, 512, 1024, 4096)
ROWS = (1, 2, 4, 6, 12)
GROUP = 4  # query heads that share a key head


def env(card: Card) -> None:
    variables = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
    cores = len(os.sched_getaffinity(0))
    found = {"python": sys.version.split()[0], "torch": torch.__version__, "cuda": torch.version.cuda}
    packages = {name: _version(name) for name in PACKAGES}
    card.say(section="env", **found, gcc=shutil.which("gcc"), cores=cores, packages=packages, variables=variables)
    size = 2**20 if card.is_tiny else 2**31
    source = torch.ones(size, dtype=torch.uint8, device=card.device)
    target = torch.empty_like(source)
    if not card.is_tiny:
        card.say(section="device", **_device())
    card.say(section="copy", GBps=2 * size / card.in_graph(lambda: target.copy_(source), 5) / 1e3)
    card.say(section="read", GBps=size / card.in_graph(lambda: source.view(torch.int64).amax(), 5) / 1e3)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _device() -> dict[str, Any]:
    free, whole = torch.cuda.mem_get_info()
    return {
        "name": torch.cuda.get_device_name(0),
        "devices": torch.cuda.device_count(),
        "capability": torch.cuda.get_device_capability(0),
        "cudnn": torch.backends.cudnn.version(),
        "tf32": torch.backends.cuda.matmul.allow_tf32,
        "free": free,
        "whole": whole,
        "priorities": torch.cuda.Stream.priority_range(),
    }


def queue(card: Card) -> None:
    """Time small kernels in a graph: a chain on one row."""
    row, weight = card.random(1, 4096), card.random(4096)
    logits = torch.randn(1, 4096 if card.is_tiny else 128256, device=card.device)
    works: dict[str, Callable[[], object]] = {
        "add_": lambda: row.add_(0),
        "float": row.float,
        "rms_norm": lambda: F.rms_norm(row, (4096,), weight, 1e-5),
        "silu": lambda: F.silu(row),
        "best of the vocabulary": lambda: best(logits),
    }
    for name, work in works.items():
        card.say(section="small", name=name, us=round(card.in_graph(work, 200), 2))


def attend(card: Card) -> None:
    """Time each backend of attention: its first call, which may build a plan, its launch, and its time in a graph. Then
    compare its numbers with those of float64."""
    heads, width = (2, 16) if card.is_tiny else (8, 128 if card.pair == "8B" else 64)
    cache = torch.randn(2, heads, max(SLOTS) + 256, width, device=card.device, dtype=torch.bfloat16)
    for slots in SLOTS[:1] if card.is_tiny else SLOTS:
        for rows in ROWS:
            queries = torch.randn(heads, rows * GROUP, width, device=card.device, dtype=torch.bfloat16)
            _attend(card, queries, cache[:, :, :slots])


def _attend(card: Card, queries: Tensor, storage: Tensor) -> None:
    """Hide the first and the last quarter, as a window and a half-filled bucket do."""
    keys, values = storage.unbind(0)
    rows, slots = queries.shape[1], keys.shape[1]
    seen = slice(slots // 4, slots * 3 // 4)
    mask = torch.full((rows, slots), float("-inf"), device=card.device, dtype=queries.dtype)
    mask[:, seen] = 0
    scores = queries.double() @ keys.double().transpose(1, 2) * queries.shape[-1] ** -0.5 + mask.double()
    want = scores.softmax(-1) @ values.double()
    row: dict[str, Any] = {}
    ways = _ways(card, seen)
    if not card.is_tiny and find_spec("triton"):
        ways["split, without a mask"] = _split(storage, seen, rows // GROUP), None
    for name, (way, backend) in ways.items():
        with sdpa_kernel(backend) if backend else nullcontext():
            row[name] = _attended(card, partial(way, queries, keys, values, mask), want)
    card.say(section="attend", slots=slots, rows=rows // GROUP, **row)


def _ways(card: Card, seen: slice) -> dict[str, tuple[Attend, SDPBackend | None]]:
    def unmasked(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """Attend to what is seen alone: the time that a pass without masks could reach."""
        return F.scaled_dot_product_attention(queries[None], keys[None, :, seen], values[None, :, seen])[0]

    ways: dict[str, tuple[Attend, SDPBackend | None]] = {
        "default": (attend_at_once, None),
        "steps": (attend_in_steps, None),
        "math": (attend_at_once, SDPBackend.MATH),
        "without a mask": (unmasked, None),
    }
    if not card.is_tiny:
        ways["efficient"] = attend_at_once, SDPBackend.EFFICIENT_ATTENTION
        ways["cudnn"] = attend_at_once, SDPBackend.CUDNN_ATTENTION
        ways["flash without a mask"] = unmasked, SDPBackend.FLASH_ATTENTION
    return ways


def _split(storage: Tensor, seen: slice, rows: int) -> Attend:
    """Make the way that chains attend in without a mask: in rows that all see the same keys."""
    from decoding.models.fast import triton_kernels

    texts, positions = storage[:, :, None], torch.full((rows,), seen.stop - 1, device=storage.device)

    def split(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        dealt = queries.transpose(0, 1).reshape(rows, -1, queries.shape[2])
        mixed: Tensor = triton_kernels.attend(dealt, texts, positions, seen.stop - seen.start)
        return mixed.view(rows * GROUP, -1, queries.shape[2]).transpose(0, 1)

    return split


def _attended(card: Card, work: Callable[[], Tensor], want: Tensor) -> Any:
    try:
        first = card.seconds(work)
        off = float((work().double() - want).norm() / want.norm())
        return {"first_ms": round(1e3 * first, 2), "us": round(card.in_graph(work), 2), "off": off}
    except Exception as error:  # a backend may refuse a form, and Triton's compiler too
        return repr(error)[:160]


def products(card: Card) -> None:
    """Time the matrix products of a pass and nothing else, in one graph: no pass can be faster than this."""
    config = card.shape.config
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    keys = hidden * config["num_key_value_heads"] // config["num_attention_heads"]
    sizes = {"qkv": (hidden + 2 * keys, hidden), "out": (hidden, hidden)}
    sizes |= {"inner": (2 * inner, hidden), "down": (hidden, inner)}
    layers = [{name: card.random(*size) for name, size in sizes.items()} for _ in range(config["num_hidden_layers"])]
    head = card.random(config["vocab_size"], hidden)
    for library in ("",) if card.is_tiny else ("cublas", "cublaslt"):
        if library:
            torch.backends.cuda.preferred_blas_library(library)
        for rows in (1, 2, 4, 6):
            _products(card, layers, head, rows, library)


def _products(card: Card, layers: list[dict[str, Tensor]], head: Tensor, rows: int, library: str) -> None:
    inputs = {width: card.random(rows, width) for width in {weight.shape[1] for weight in layers[0].values()}}

    def everything() -> None:
        for layer in layers:
            for weight in layer.values():
                F.linear(inputs[weight.shape[1]], weight)
        F.linear(inputs[head.shape[1]], head)

    size = 2 * (head.numel() + sum(weight.numel() for layer in layers for weight in layer.values()))
    us = card.in_graph(everything, 1)
    card.say(section="products", library=library, rows=rows, ms=us / 1e3, GBps=round(size / us / 1e3))
    for (name, how), work in _each(layers, inputs, card.random(rows, head.shape[1])).items():
        us = card.in_graph(work, 1) / len(layers)
        read = 2 * layers[0][name].numel()
        card.say(section="product", library=library, rows=rows, name=name, how=how, us=us, GBps=round(read / us / 1e3))


def _each(
    layers: list[dict[str, Tensor]], inputs: dict[int, Tensor], residual: Tensor
) -> dict[tuple[str, str], Callable[[], object]]:
    """One kind of product over all layers; those that end in a residual also with it, in two ways."""

    def over(name: str, product: Callable[[Tensor, Tensor], object]) -> None:
        for layer in layers:
            product(inputs[layer[name].shape[1]], layer[name])

    ways: dict[str, Callable[[Tensor, Tensor], object]] = {
        "alone": F.linear,
        "residual added after": lambda rows, weight: F.linear(rows, weight).add_(residual),
        "residual added within": lambda rows, weight: residual.addmm_(rows, weight.t()),
    }
    found = {(name, "alone"): partial(over, name, F.linear) for name in layers[0]}
    return found | {(name, how): partial(over, name, way) for name in ("out", "down") for how, way in ways.items()}
