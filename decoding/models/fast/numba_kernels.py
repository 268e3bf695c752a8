"""A CPU kernel, in numba's subset of Python: attention of several texts that have a few rows each.

torch takes a call for each text and layer, which costs more than the arithmetic of a few rows. This kernel takes one
call for each layer. It is compiled for the processor on first use, in about a second, and numba keeps the result on
disk. `few` decides whether it is used.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

LOOSE = {"reassoc", "contract", "arcp", "nsz"}  # sums in any order; NaN and infinity as ever
FLOAT = np.float32
LEAST = FLOAT(-126.0)  # exponents below have no ordinary float32
HALF = FLOAT(0.5)
# 2^x for x in -½ … ½, to 1e-7: Taylor's terms of x ln 2
TERMS = tuple(FLOAT(math.log(2) ** n / math.factorial(n)) for n in range(7))


@intrinsic
def floats_at(context: Any, address: Any) -> Any:
    """Return a pointer to the float32 numbers at an address."""
    signature = types.CPointer(types.float32)(address)

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

    return signature, generate


@numba.njit(inline="always")
def write(fresh, head, keys, values, slot, size):
    for d in range(size):
        keys[slot, d] = fresh[0, head, d]
        values[slot, d] = fresh[1, head, d]


@numba.njit(inline="always")
def score(asked, head, keys, seen, scale, group, size, scores):
    for j in range(seen):
        for g in range(group):
            product = FLOAT(0)
            for d in range(size):
                product += asked[g, head, d] * keys[j, d]
            scores[g, j] = product * scale


@numba.njit(inline="always")
def exponentials(scores, bits, count):
    """Replace scores by 2 to the power of them, relative to the greatest, and return their sum. `bits` is scratch space
    that is read as integers here and as floats by the caller: the exponents."""
    top = scores[0]
    for j in range(1, count):
        top = scores[j] if scores[j] > top else top
    for j in range(count):
        power = scores[j] - top
        whole = np.floor(power + HALF)
        x = power - whole  # NaN stays NaN
        bits[j] = (np.int32(whole if whole > LEAST else LEAST) + 127) << 23
        tail = TERMS[4] + x * (TERMS[5] + x * TERMS[6])
        scores[j] = TERMS[0] + x * (TERMS[1] + x * (TERMS[2] + x * (TERMS[3] + x * tail)))


@numba.njit(inline="always")
def shares(scores, exponents, count):
    """Make the scores' mantissas and exponents shares of 1."""
    total = FLOAT(0)
    for j in range(count):
        scores[j] *= exponents[j]
        total += scores[j]
    for j in range(count):
        scores[j] /= total


@numba.njit(inline="always")
def mix(scores, head, values, seen, group, size, found):
    for j in range(seen):
        for g in range(group):
            for d in range(size):
                found[g, head, d] += scores[g, j] * values[j, d]


@cache
def attention(group: int, size: int) -> Any:
    """Compile the kernel for heads of this size, of which a group shares keys and values."""
    kernel = _attention(group, size)
    options = {"fastmath": LOOSE, "nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(kernel)
    except RuntimeError:  # no folder for it can be written
        return numba.njit(**options)(kernel)


def _attention(group: int, size: int) -> Any:
    scale = FLOAT(math.log2(math.e) / math.sqrt(size))

    def attend(texts, layer, kv_heads, queries, stride, fresh, fresh_stride, mixed, scores, bits, exponents):
        """Write the fresh keys and values of all texts, and attend. `texts` has a row for each: its first row, its
        number of rows, the slot of the first, the address of its cache, and slots of the cache. `queries`, `fresh` and
        `mixed` are addresses, strides are floats from row to row."""
        for text in range(len(texts)):
            first, count, start, cache, slots = texts[text]
            for head in range(kv_heads):
                key = cache + 4 * size * slots * (2 * kv_heads * layer + head)
                keys = numba.carray(floats_at(key), (slots, size))
                values = numba.carray(floats_at(key + 4 * size * slots * kv_heads), (slots, size))
                for row in range(first, first + count):
                    new = numba.carray(floats_at(fresh + 4 * row * fresh_stride), (2, kv_heads, size))
                    write(new, head, keys, values, start + row - first, size)
                for row in range(first, first + count):
                    seen = start + row - first + 1
                    asked = numba.carray(floats_at(queries + 4 * row * stride), (group, kv_heads, size))
                    found = numba.carray(floats_at(mixed + 4 * row * group * kv_heads * size), (group, kv_heads, size))
                    score(asked, head, keys, seen, scale, group, size, scores)
                    for g in range(group):
                        exponentials(scores[g], bits[g], seen)
                        shares(scores[g], exponents[g], seen)
                        found[g, head] = FLOAT(0)
                    mix(scores, head, values, seen, group, size, found)

    return attend
