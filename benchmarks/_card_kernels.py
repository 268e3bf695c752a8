"""Steps of `bench card` that time single operations: small kernels, attention, matrix products."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from benchmarks._card import Card, datasheet_gbps
from decoding.dice.dice import best
from decoding.models.fast.passes import Attend, attend_at_once, attend_in_steps
from decoding.models.fast.products import TILES

PACKAGES = ("transformers", "tokenizers", "numpy", "safetensors", "pytest", "triton")
VARIABLES = ("TORCH", "PYTORCH", "CUDA", "CUBLAS", "NVIDIA_TF32", "OMP")
SLOTS = (256, 512, 1024, 4096)
ROWS = (1, 2, 4, 6, 12)
GROUP = 4  # query heads that share a key head
PRODUCT_ROWS = (1, 2, 4, 8, 16)
LAYERS = 8  # whose products are timed


def env(card: Card) -> None:
    variables = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
    cores = len(os.sched_getaffinity(0))
    found = {"python": sys.version.split()[0], "torch": torch.__version__, "cuda": torch.version.cuda}
    packages = {name: _version(name) for name in PACKAGES}
    card.say(section="env", **found, gcc=shutil.which("gcc"), cores=cores, packages=packages, variables=variables)
    if not card.is_tiny:
        card.say(section="device", **_device())
    card.say(section="copy", GBps=card.copied_gbps, datasheet_GBps=datasheet_gbps(card.device))
    card.say(section="read", GBps=card.read_gbps)


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
        "priorities": torch.cuda.Stream.priority_range(),  # type: ignore[call-arg]
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


def kernels(card: Card) -> None:
    """Say which fused kernels a model keeps, and why others are not used. A cache holds the matrices of one layer."""
    runner, _ = card.runner(context=256, num_hidden_layers=4)
    card.say(section="fused kernels", triton=bool(find_spec("triton")), **runner.decoder.kernels.told)


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
    """Hide the last quarter, as a bucket does that is not full."""
    keys, values = storage.unbind(0)
    rows, slots = queries.shape[1], keys.shape[1]
    seen = slice(0, slots * 3 // 4)
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
        mixed: Tensor = triton_kernels.attend(dealt, texts, positions)
        return mixed.view(rows * GROUP, -1, queries.shape[2]).transpose(0, 1)

    return split


def _attended(card: Card, work: Callable[[], Tensor], want: Tensor) -> Any:
    try:
        first = card.seconds(work)
        off = float((work().double() - want).norm() / want.norm())
        return {"first_ms": round(1e3 * first, 2), "us": round(card.in_graph(work), 2), "off": off}
    except Exception as error:  # a backend may refuse a form, and Triton's errors are no RuntimeErrors
        return repr(error)[:160]


def products(card: Card) -> None:
    """Time each matrix product of a pass in every way that we know, and sum up what a pass of the fastest would take.
    A few layers are enough: a cache holds the matrices of one, and not those of all."""
    config = card.shape.config
    hidden, inner, layers = config["hidden_size"], config["intermediate_size"], config["num_hidden_layers"]
    keys = hidden * config["num_key_value_heads"] // config["num_attention_heads"]
    sizes = {"qkv": (hidden + 2 * keys, hidden), "out": (hidden, hidden), "inner": (2 * inner, hidden)}
    sizes |= {"down": (hidden, inner), "head": (config["vocab_size"], hidden)}
    passes: dict[tuple[int, str], float] = {}  # microseconds by rows, and by way or "fastest"
    for name, size in sizes.items():
        times = 1 if name == "head" else layers
        matrices = [card.random(*size) for _ in range(min(times, LAYERS))]
        for rows in PRODUCT_ROWS:
            us = _products(card, name, matrices, rows)
            for way, each in {"torch": us["torch"], "fastest": min(us.values())}.items():
                passes[rows, way] = passes.get((rows, way), 0.0) + times * each
    read = 2 * sum(rows * width * (1 if name == "head" else layers) for name, (rows, width) in sizes.items())
    for (rows, way), us in passes.items():
        card.say(section="products", rows=rows, way=way, ms=us / 1e3, **card.bandwidth(read, us / 1e6))


def _products(card: Card, name: str, matrices: list[Tensor], rows: int) -> dict[str, float]:
    """Microseconds of a product by the way it is made; none for ways that fail."""
    given, residual = card.random(rows, matrices[0].shape[1]), card.random(rows, matrices[0].shape[0])
    turned = [matrix.t().contiguous() for matrix in matrices]
    ways: dict[str, Callable[[], object]] = {
        "torch": lambda: [F.linear(given, matrix) for matrix in matrices],
        "torch, added to a residual": lambda: [residual.addmm_(given, matrix.t()) for matrix in matrices],
        "torch, transposed": lambda: [given @ matrix for matrix in turned],
    }
    if not card.is_tiny:
        ways["cublaslt"] = ways["torch"]
        ways |= {f"tiles of {tile}": partial(_tiled, tile, given, matrices) for tile in TILES}
    found = {}
    for way, work in ways.items():
        try:
            with _library(way) if way == "cublaslt" else nullcontext():
                us = card.in_graph(work, 1) / len(matrices)
        except Exception as error:  # a way that a device refuses costs the others nothing
            card.say(section="product", name=name, rows=rows, way=way, error=repr(error)[:160])
            continue
        card.say(
            section="product", name=name, rows=rows, way=way, us=us, **card.bandwidth(matrices[0].nbytes, us / 1e6)
        )
        found[way] = us
    return found


def _tiled(tile: int, given: Tensor, matrices: list[Tensor]) -> None:
    from decoding.models.fast import triton_kernels

    for matrix in matrices:
        triton_kernels.product(given, matrix, None, tile=tile)


@contextmanager
def _library(name: str) -> Iterator[None]:
    """Let torch multiply by a library for a while."""
    torch.backends.cuda.preferred_blas_library(name)
    try:
        yield
    finally:
        torch.backends.cuda.preferred_blas_library("default")
