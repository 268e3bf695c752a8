"""Kernels that replace several launches: used where they are right and faster, never otherwise."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from decoding.models import fast
from decoding.models.fast import fused, products
from decoding.models.fast.fused import Kernels, attend_chains, chosen, in_slab, is_right, silu_gate, why_not, why_wrong
from decoding.models.fast.linear import Layout
from tests.kit.models import LLAMA, fast_runner, save
from tests.kit.passes import LONG, assert_near, played, shape, walk
from tests.kit.rehearsal import Rehearsal, captured_runner, on_a_gpu, rehearse

ROOT = Path(__file__).parents[3]
CPU = torch.device("cpu")
TILES = {rows: dict.fromkeys(("qkv", "out", "inner", "down", "head"), 16) for rows in products.ROWS}
PLAIN = Kernels(
    gate=silu_gate, norm=fused.rms_norm, place=fused.place, attend=attend_chains,
    product=fused.product, tiles=TILES,
)  # fmt: skip
LAYOUT = Layout("plain", torch.bfloat16, is_fused=True)


def clock(kernel_takes: float) -> Any:
    """Capturing that times kernels as told, the plain way with 1 ms."""
    times = iter([kernel_takes, 1.0])
    made: Any = Rehearsal()
    made.time = lambda work: (work(), next(times))[1]
    return made


@pytest.mark.parametrize("model_type", ["llama", "qwen3"])
def test_a_pass_with_kernels_is_the_sliced_one_also_of_texts_in_a_slab(tmp_path: Path, model_type: str) -> None:
    """Torch's own launches stand in for kernels."""
    folder = save(tmp_path, model_type, **LONG | {"head_dim": 8})
    runner, plain = fast_runner(folder, static=True), fast_runner(folder)
    runner.decoder.kernels = PLAIN
    rehearse(runner)
    torch.testing.assert_close(walk(runner), walk(plain), atol=1e-4, rtol=1e-5)
    runners = runner.model.new_runners(3)
    for _ in range(2):
        for got, want in played(runners, plain.model):
            torch.testing.assert_close(got, want, atol=1e-4, rtol=1e-4)


def test_a_way_to_attend_that_fails_is_not_used_and_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    runner = fast_runner(save(tmp_path, "llama", **LLAMA), static=True)
    runner.decoder.kernels = Kernels(attend=lambda *given: breaks())
    rehearse(runner)
    for token in range(4):
        got = runner.extend([token])
    torch.testing.assert_close(got, fast_runner(tmp_path).extend([*range(4)]), atol=1e-4, rtol=1e-4)
    assert "no compiler" in caplog.text


def test_a_kernel_is_used_if_it_is_right_and_faster() -> None:
    tried = fused.gate_trial(shape(), LAYOUT, CPU)
    assert why_not(silu_gate, silu_gate, tried, clock(0.5)) is None
    assert "It takes 2000.0 µs" in (why_not(silu_gate, silu_gate, tried, clock(2.0)) or "")


def forgets_to_write(heads: Tensor, turns: Tensor, slots: Tensor, storage: Tensor) -> Tensor:
    return fused.place(heads, turns, slots, storage.clone())


def takes_storage_for_whole(heads: Tensor, turns: Tensor, slots: Tensor, storage: Tensor) -> Tensor:
    """Write where the slots would lie if the storage were no part of a slab."""
    _, keys, capacity, width = storage.shape
    strides = keys * capacity * width, capacity * width, width, 1
    return fused.place(heads, turns, slots, storage.as_strided(storage.shape, strides))


def says_nan(both: Tensor) -> Tensor:
    return silu_gate(both) * float("nan")


def breaks(*tensors: Tensor | None, **how: object) -> Tensor:
    raise SyntaxError("at 24:8\n    there = storage\n    ^\nno compiler")


def test_a_kernel_that_is_wrong_or_breaks_is_not_used_however_fast() -> None:
    of_gate, of_place = (trial(shape(), LAYOUT, CPU) for trial in (fused.gate_trial, fused.place_trial))
    place = in_slab(fused.place)
    assert is_right(place, place, of_place)
    for kernel in (forgets_to_write, takes_storage_for_whole):
        assert not is_right(in_slab(kernel), place, of_place)
    assert not is_right(says_nan, silu_gate, of_gate)
    assert why_not(in_slab(forgets_to_write), place, of_place, clock(0.1)) == "Its numbers are not torch's."
    assert why_not(in_slab(breaks), place, of_place, clock(0.1)) == "SyntaxError: at 24:8: no compiler"


def sees_what_follows(queries: Tensor, storage: Tensor, positions: Tensor) -> Tensor:
    return attend_chains(queries, storage, positions + 1)


def reads_the_first_text(queries: Tensor, storage: Tensor, positions: Tensor) -> Tensor:
    return attend_chains(queries, storage[:, :, :1].expand_as(storage), positions)


def test_attention_that_is_wrong_or_breaks_is_not_used() -> None:
    tried = fused.attend_trials(shape(), LAYOUT, CPU)
    assert not any(why_wrong(attend_chains, attend_chains, one) for one in tried)
    for wrong in (sees_what_follows, reads_the_first_text, breaks):
        assert any(why_wrong(wrong, attend_chains, one) for one in tried)


def multiplying(tmp_path: Path) -> Any:
    """A decoder whose kernel for products is torch's own launches."""
    decoder = fast_runner(save(tmp_path, "llama", **LLAMA), static=True, dtype="bfloat16").decoder
    decoder.kernels = Kernels(product=fused.product)
    return decoder


def forgets_the_residual(*given: Any, residual: Tensor | None = None, **how: Any) -> Tensor:
    found = fused.product(*given, **how)
    return found if residual is None else residual.copy_(found)


def prefers(*liked: int) -> Any:
    """Capturing in which a part's launches take 1 ms with these tiles, and else 2 ms."""
    made: Any = Rehearsal()
    order = itertools.cycle((None, *products.TILES))
    made.time = lambda work, calls: (work(), 1.0 if next(order) in liked else 2.0)[1]
    return made


def test_products_of_a_few_rows_take_the_tiles_that_are_fastest(tmp_path: Path) -> None:
    decoder = multiplying(tmp_path)
    decoder.kernels = found = products.with_tiles(decoder, prefers(32))
    assert found.tiles == {rows: dict.fromkeys(products.parts_of(decoder), 32) for rows in products.ROWS}
    assert found.tiles_for(3) == found.tiles[4] and found.tiles_for(9) and not found.tiles_for(17)
    assert "1 row: torch 666.7, tiles of 16 666.7, tiles of 32 333.3 µs; 4 rows: " in found.told["product of qkv"]
    assert found.told["product"] == "used"


def test_products_stay_torchs_where_tiles_are_slower_wrong_or_fail(tmp_path: Path) -> None:
    decoder = multiplying(tmp_path)
    assert not products.with_tiles(decoder, prefers()).tiles
    decoder.kernels = Kernels(product=forgets_the_residual)
    assert "Its numbers are not torch's." in products.with_tiles(decoder, prefers(16)).told["product of out"]
    decoder.kernels = Kernels(product=breaks)
    found = products.with_tiles(decoder, prefers(16))
    assert not found.tiles and found.told["product of head"].count("SyntaxError") == len(products.TILES)


def test_without_triton_torchs_launches_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.delitem(sys.modules, "decoding.models.fast.triton_kernels", raising=False)
    monkeypatch.delattr(fast, "triton_kernels", raising=False)
    rehearsal: Any = Rehearsal()
    rehearsal.device = CPU
    kernels = chosen(shape(), Layout("plain", torch.float32, is_fused=True), rehearsal)
    assert "used" not in kernels.told.values() and "triton" in kernels.told["attend"]


def test_a_model_says_why_kernels_are_not_used(tmp_path: Path) -> None:
    """Triton has no way to run them on a CPU."""
    runner = fast_runner(save(tmp_path, "llama", **LLAMA), static=True, capturing=Rehearsal())
    assert {*runner.facts.kernels} == {*fused.NAMES, "product"}
    assert all("Error: " in why or "16-bit" in why for why in runner.facts.kernels.values())


# numpy 2.4 makes no int of an array of one element, which Triton's interpreter asks for at the ends of loops.
# Triton 3.9 makes int32 of some masks, and refuses them.
INTERPRETER = """
from triton.runtime import interpreter

patch = interpreter._patch_lang_tensor
load, store = interpreter.InterpreterBuilder.create_masked_load, interpreter.InterpreterBuilder.create_masked_store

def loaded(self, places, mask, *rest):
    mask.data = mask.data.astype(bool)
    return load(self, places, mask, *rest)

def stored(self, places, values, mask, *rest):
    mask.data = mask.data.astype(bool)
    return store(self, places, values, mask, *rest)

def patched(tensor, scope):
    patch(tensor, scope)
    scope.set_attr(tensor, "__index__", lambda self: int(self.handle.data.item()))

interpreter._patch_lang_tensor = patched
interpreter.InterpreterBuilder.create_masked_load = loaded
interpreter.InterpreterBuilder.create_masked_store = stored
"""

INTERPRETED = """
from dataclasses import replace
from functools import partial
import numpy as np
import torch
from triton.runtime.interpreter import InterpreterBuilder, TensorHandle
from triton import language as tl
from decoding.models.fast import fused, triton_kernels
from decoding.models.fast.fused import attend_chains
from decoding.models.fast.linear import Layout
from tests.kit.passes import shape

multiply = InterpreterBuilder.create_dot

def widened(handle):
    whole = (handle.data.astype(np.uint32) << 16).view(np.float32)
    return TensorHandle(whole, tl.float32) if handle.dtype.scalar == tl.bfloat16 else handle

# The interpreter keeps bfloat16 as 16 bits, and would multiply them as integers.
InterpreterBuilder.create_dot = lambda self, a, b, *rest: multiply(self, widened(a), widened(b), *rest)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
narrow, wide = shape(), shape(hidden_size=144, num_key_value_heads=6, intermediate_size=1500)

print(fused.why_wrong_best(triton_kernels.best, device) is None)
print(fused.why_wrong_best(lambda scores: triton_kernels.best(scores[:, :8500]), device) is not None)
for dtype, form in ((torch.float32, narrow), (torch.float16, narrow), (torch.bfloat16, wide)):
    layout = Layout("plain", dtype, is_fused=True)
    gate, place = (trial(form, layout, device) for trial in (fused.gate_trial, fused.place_trial))
    norm, rows = fused.head_norm_trial(replace(form, family="qwen3"), device), fused.norm_trial(form, layout, device)
    print(fused.is_right(triton_kernels.gate, fused.silu_gate, gate))
    print(fused.is_right(partial(triton_kernels.norm, eps=1e-5), partial(fused.rms_norm, eps=1e-5), rows))
    for how in ({}, {"head_norm": norm, "eps": 1e-6}):
        ours, plain = (partial(each, **how) for each in (triton_kernels.place, fused.place))
        print(fused.is_right(fused.in_slab(ours), fused.in_slab(plain), place))
        print(fused.is_right(ours, plain, (*place[:3], place[3][:, :, 0].contiguous())))

torch.manual_seed(1)
for dtype, width, size, tile in (torch.bfloat16, 280, 84, 32), (torch.float16, 256, 64, 16):
    given, residual, weight, bias = (
        torch.randn(*of, dtype=dtype, device=device) for of in ((5, width), (5, size), (size, width), (size,))
    )
    weight.mul_(width**-0.5)
    for bias, adds in ((None, True), (bias, False)):
        def of(kernel, given, residual):
            return kernel(given, weight, bias, tile=tile, residual=residual if adds else None)
        ours, plain = (lambda *t, k=kernel: of(k, *t) for kernel in (triton_kernels.product, fused.product))
        print(fused.is_right(ours, plain, (given, residual)))
        print(torch.equal(ours(given[1:2], residual[1:2].clone()), ours(given, residual.clone())[1:2]))

# One row of each text of a slab and several, grouped heads and one head for each.
for dtype, form, which in (
    (torch.float32, narrow, 2), (torch.float16, narrow, 0), (torch.bfloat16, wide, 2), (torch.bfloat16, narrow, 3),
):
    tried = fused.attend_trials(form, Layout("plain", dtype, is_fused=True), device)[which]
    print(fused.is_right(triton_kernels.attend, attend_chains, tried))
"""


@pytest.mark.slow
@on_a_gpu
def test_tritons_kernels_are_right_and_a_row_does_not_depend_on_the_others(device: torch.device) -> None:
    """Without a GPU, Triton's interpreter runs them. Triton reads that when it is first imported: hence the process."""
    assert interpreted(INTERPRETED).split() == ["True"] * (2 + 3 * 6 + 2 * 2 * 2 + 4)


def interpreted(code: str) -> str:
    """Run code where Triton interprets its kernels, or on the GPU if there is one."""
    return run(code) if torch.cuda.is_available() else run(INTERPRETER + code, TRITON_INTERPRET="1")


def run(code: str, **variables: str) -> str:
    if find_spec("triton") is None:
        pytest.skip("Triton is not built for this system")
    return subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, env=os.environ | variables, text=True)


COMPILED = """
from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from decoding.models.fast import triton_kernels

LIMITS = {"80": (166912, False), "89": (101376, False), "90": triton_kernels.HOPPER}  # A100, L4, H100
ITEMS = {"bf16": 2, "fp16": 2, "fp32": 4}
POINTERS = {"positions": "*i64", "slots": "*i64", "ids": "*i32"}
POINTERS |= dict.fromkeys(("turns", "head_norm", "found", "weights", "scores", "tops"), "*fp32")
LONG = ("queries", "storage", "heads", "both", "out", "given", "weight", "bias", "norm")

def compiled(target, kernel, dtype, out=None, stages=3, **constants):
    pointers = POINTERS | dict.fromkeys(LONG, "*" + dtype) | ({"out": out} if out else {})
    signature = {name: "constexpr" if name in constants else pointers.get(name, "i32") for name in kernel.arg_names}
    signature |= {name: "fp32" for name in ("scale", "eps") if name in signature}
    wide = [n for n in kernel.arg_names if signature[n][0] == "*" or n.startswith("by_") or n == "width"]
    made = compile(
        ASTSource(
            fn=kernel, signature=signature,
            constexprs={(kernel.arg_names.index(name),): value for name, value in constants.items()},
            attrs={(kernel.arg_names.index(name),): [["tt.divisibility", 16]] for name in wide},
        ),
        target=GPUTarget("cuda", int(target), 32), options={"num_stages": stages},
    )
    print(made.metadata.shared <= LIMITS[target][0] and len(made.asm["cubin"]) > 0)

def attention(target, dtype, width, rows):
    keys, stages = triton_kernels.keys_and_stages(rows, width, ITEMS[dtype], *LIMITS[target])
    sizes = {"WIDTH": width, "PADDED": width, "ROWS": rows, "BLOCK": keys}
    compiled(target, triton_kernels._attend_to_part, dtype, stages=stages, **sizes)

# Each form once, on the card whose shared memory it fills most.
for form in (("90", "bf16", 256, 64), ("80", "bf16", 256, 64), ("80", "fp32", 256, 16), ("89", "bf16", 256, 64)):
    attention(*form)
for parts in (1, 64):  # of scores
    compiled("90", triton_kernels._best_of_parts, "fp32", out="*i64", PARTS=parts)
compiled("90", triton_kernels._best_of_part, "fp32", BLOCK=triton_kernels.SCORES_AT_ONCE)
for dtype in ("bf16", "fp32"):
    compiled("90", triton_kernels._gate, dtype, BLOCK=triton_kernels.BLOCK)
    compiled("90", triton_kernels._norm, dtype, BLOCK=8192)
for dtype, width, parts in (("bf16", 64, 1), ("fp32", 256, triton_kernels.PROGRAMS)):
    compiled("90", triton_kernels._combine, dtype, WIDTH=width, PADDED=width, PARTS=parts)
for dtype, pairs, norms in (("bf16", 32, False), ("fp32", 128, True)):
    compiled("90", triton_kernels._place, dtype, PAIRS=pairs, PADDED=pairs, NORMS=norms)
sizes = {"ROWS": triton_kernels.MOST_FEW, "BLOCK": triton_kernels.WIDTH_AT_ONCE}
for dtype, tile, bias, adds in (("bf16", 16, True, False), ("fp16", 32, False, True)):
    how = {"TILE": tile, "HAS_BIAS": bias, "ADDS": adds}
    compiled("90", triton_kernels._product, dtype, stages=4, **sizes, **how)
"""


@pytest.mark.slow
def test_all_of_tritons_kernels_compile_for_gpus(tmp_path: Path) -> None:
    """No GPU is needed for that."""
    assert run(COMPILED, TRITON_CACHE_DIR=str(tmp_path)).split() == ["True"] * (4 + 3 + 4 + 2 + 2 + 2)


class Launches(TorchDispatchMode):
    """Count the operations that a GPU would launch: those that write, in place or to memory of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func.__name__.partition(".")[0]
        if isinstance(result, Tensor) and (name.endswith("_") or not is_view(result, args)) and "empty" not in name:
            self.names.append(name)
        return result


def is_view(result: Tensor, args: tuple[object, ...]) -> bool:
    lying = result.untyped_storage().data_ptr()
    return any(isinstance(arg, Tensor) and arg.untyped_storage().data_ptr() == lying for arg in args)


def test_a_layer_of_a_static_pass_is_at_most_13_launches(tmp_path: Path) -> None:
    """Each costs a GPU some microseconds, whatever its work. Triton's kernels make them 9."""
    counts = []
    for layers in (2, 3):
        folder = save(tmp_path / str(layers), "llama", dtype=torch.bfloat16, **LLAMA | {"num_hidden_layers": layers})
        runner = fast_runner(folder, static=True, dtype="bfloat16")
        runner.extend([1, 2, 3])
        with Launches() as seen:
            runner.extend([4])
        counts.append(len(seen.names))
    assert counts[1] - counts[0] <= 13


@on_a_gpu
def test_on_a_gpu_kernels_are_tried_and_passes_are_near(tmp_path: Path, device: torch.device) -> None:
    folder = save(tmp_path, "llama", dtype=torch.bfloat16, **LONG)
    runner = captured_runner(folder, device, dtype="bfloat16")
    want = walk(fast_runner(folder, dtype="float32"))
    own = runner.decoder.kernels
    for kernels in (own, replace(own, tiles=TILES if own.product else {}), Kernels()):
        runner.decoder.kernels = kernels
        again = runner.model.new_runner()
        assert_near(walk(again).cpu(), want)
