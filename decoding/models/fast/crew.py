"""One compiled kernel in several threads at once: torch's own, so that no two pools of threads fight for the cores.

torch's threads are those of GNU OpenMP, whose `GOMP_parallel` runs any function in all of them. Where there is none,
kernels run in one thread.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from decoding.models.fast.numba_kernels import LOOSE

WORTH = 2 << 20  # bytes that a kernel reads, from which it is worth to wake other threads
PATIENCE = 4000  # looks, some 10 µs, before a thread that waits lets others have its core
TICKETS, MEETINGS, SIZE, GIVEN = range(4)  # of the numbers that a kernel is given
NUMBER = ir.IntType(64)
# numba keeps a compiled kernel until its own file changes. Kernels read this number, so that each is compiled anew when
# any of these files changes.
KEPT_IN = ("numba_kernels", "crew", "tiles", "whole")
SOURCES = hash(tuple((Path(__file__).parent / f"{name}.py").stat().st_mtime_ns for name in KEPT_IN)) | 1


class Crewed:
    """A kernel for a crew. It is given the address of its numbers, and takes a ticket there first."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self._entry = _compiled(make(SOURCES))
        self._alone = ctypes.CFUNCTYPE(None, ctypes.c_int64)(self._entry.address)

    def __call__(self, read: int, given: Sequence[int]) -> None:
        """Run on numbers, with as many threads as torch may use where it is worth it."""
        size = crew_size(read)
        numbers = np.array((0, 0, size, *given), np.int64)
        if size == 1:
            self._alone(numbers.ctypes.data)
        else:
            _parallel()(self._entry.address, numbers.ctypes.data, size, 0)


def crew_size(read: int) -> int:
    """Return how many threads a kernel gets that reads so many bytes."""
    threads = torch.get_num_threads() if read >= WORTH else 1
    return threads if threads == 1 or _come(threads) == threads else 1


@cache
def _parallel() -> Any:
    """Return `GOMP_parallel` of the library that torch loaded, None where there is none."""
    found = getattr(ctypes.CDLL(None), "GOMP_parallel", None)
    if found:
        found.argtypes, found.restype = [ctypes.c_int64, ctypes.c_int64, ctypes.c_uint, ctypes.c_uint], None
    return found


@cache
def _come(size: int) -> int:
    """Return how many threads come when so many are asked for: a crew that waits for one that never comes is lost."""
    if not _parallel() or os.environ.get("OMP_DYNAMIC", "false").lower() != "false":  # then fewer may come next time
        return 1
    numbers = np.zeros(1, np.int64)
    _parallel()(_compiled(_counting(SOURCES)).address, numbers.ctypes.data, size, 0)
    return int(numbers[TICKETS])


def _compiled(kernel: Any) -> Any:
    options = {"fastmath": LOOSE, "error_model": "numpy"}
    try:
        return numba.cfunc("void(int64)", cache=True, **options)(kernel)
    except RuntimeError:  # no folder for it can be written
        return numba.cfunc("void(int64)", **options)(kernel)


def _counting(sources: int) -> Any:
    def count(numbers):
        take(numbers)

    return count


@intrinsic
def take(context: Any, numbers: Any) -> Any:
    """Count one more at this address. Return how many came before."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", builder.inttoptr(args[0], NUMBER.as_pointer()), NUMBER(1), "seq_cst")

    return types.int64(types.int64), generate


@intrinsic
def _counted(context: Any, numbers: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(builder.inttoptr(args[0], NUMBER.as_pointer()), "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic
def _let_others_run(context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), generate


@numba.njit(inline="always")
def meet(numbers, crew):
    """Wait until all are here. What each wrote before, all see after."""
    if crew > 1:
        place = numbers + 8 * MEETINGS
        wanted = (take(place) // crew + 1) * crew
        looks = 0
        while _counted(place) < wanted:
            looks += 1
            if looks > PATIENCE:
                _let_others_run()


@numba.njit(inline="always")
def share(me, crew, count):
    """Return the first and the last, not included, of so many things that fall to this thread."""
    return count * me // crew, count * (me + 1) // crew
