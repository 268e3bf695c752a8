"""CPU kernels, in numba's subset of Python: all that lies between the matrix products of a layer, for a few rows.

torch takes some fourteen calls for it in each layer, and each costs more than the arithmetic. These take four. They are
compiled for the processor on first use, in a few seconds, and numba keeps the results on disk. `lean` uses them.

Addresses are integers, and everything at them is float32, laid out without gaps, unless said otherwise.
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
ONE, HALF = FLOAT(1.0), FLOAT(0.5)
LEAST = FLOAT(-126.0)  # exponents below, and above its opposite, have no ordinary float32
UNSEEN = FLOAT(-1e4)  # as a power of 2, nothing; -inf would leave NaN
LOG2_E = FLOAT(math.log2(math.e))
# 2^x for x in -½ … ½, to 1e-7: Taylor's terms of x ln 2
TERMS = tuple(FLOAT(math.log(2) ** n / math.factorial(n)) for n in range(7))


def compiled(kernel: Any) -> Any:
    options = {"fastmath": LOOSE, "nogil": True, "error_model": "numpy"}
    try:
        return numba.njit(cache=True, **options)(kernel)
    except RuntimeError:  # no folder for it can be written
        return numba.njit(**options)(kernel)


def _numbers_at(kind: Any) -> Any:
    """Make what returns a pointer to the numbers of this kind at an address."""

    @intrinsic
    def at(context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return types.CPointer(kind)(address), generate

    return at


floats_at, integers_at, numbers_at = (_numbers_at(kind) for kind in (types.float32, types.int32, types.int64))


@numba.njit(inline="always")
def power(x, bits, j):
    """Return the mantissa of 2^x, and write its exponent into `bits`, which floats are read from afterwards."""
    whole = np.floor(x + HALF)
    rest = x - whole  # NaN stays NaN
    least = whole if whole > LEAST else LEAST
    bits[j] = (np.int32(least if least < -LEAST else -LEAST) + 127) << 23
    tail = TERMS[4] + rest * (TERMS[5] + rest * TERMS[6])
    return TERMS[0] + rest * (TERMS[1] + rest * (TERMS[2] + rest * (TERMS[3] + rest * tail)))


@numba.njit(inline="always")
def turn(head, turns, size):
    """Multiply pairs of a head's numbers, as complex numbers, by those of its position."""
    for pair in range(size // 2):
        real, imaginary = head[2 * pair], head[2 * pair + 1]
        head[2 * pair] = real * turns[2 * pair] - imaginary * turns[2 * pair + 1]
        head[2 * pair + 1] = real * turns[2 * pair + 1] + imaginary * turns[2 * pair]


@numba.njit(inline="always")
def normed(head, weight, size, eps):
    square = FLOAT(0)
    for d in range(size):
        square += head[d] * head[d]
    factor = ONE / np.sqrt(square / FLOAT(size) + eps)
    for d in range(size):
        head[d] *= factor * weight[d]


@numba.njit(inline="always")
def score(asked, head, keys, seen, scale, group, size, scores):
    for j in range(seen):
        for g in range(group):
            product = FLOAT(0)
            for d in range(size):
                product += asked[g, head, d] * keys[j, d]
            scores[g, j] = product * scale


@numba.njit(inline="always")
def hide(scores, mask, pitch, seen, group):
    """Give slots that a row does not see so low a score that they get no share."""
    hidden = numba.carray(floats_at(mask), (group, pitch))
    for g in range(group):
        for j in range(seen):
            if hidden[g, j] < FLOAT(0):
                scores[g, j] = UNSEEN


@numba.njit(inline="always")
def shares(scores, bits, exponents, count):
    """Make powers of 2 of the scores, and shares of 1 of those."""
    top = scores[0]
    for j in range(1, count):
        top = scores[j] if scores[j] > top else top
    for j in range(count):
        scores[j] = power(scores[j] - top, bits, j)
    total = FLOAT(0)
    for j in range(count):
        scores[j] *= exponents[j]
        total += scores[j]
    for j in range(count):
        scores[j] /= total


@numba.njit(inline="always")
def mix(scores, head, values, seen, group, size, found):
    for g in range(group):
        found[g, head] = FLOAT(0)
    for j in range(seen):
        for g in range(group):
            for d in range(size):
                found[g, head, d] += scores[g, j] * values[j, d]


@compiled
def norm(hidden, product, weight, out, rows, size, eps):
    """Add the product to the hidden rows, unless its address is 0, and write their root mean square norm to `out`."""
    weights = numba.carray(floats_at(weight), (size,))
    for row in range(rows):
        own = numba.carray(floats_at(hidden + 4 * row * size), (size,))
        if product:
            more = numba.carray(floats_at(product + 4 * row * size), (size,))
            for d in range(size):
                own[d] += more[d]
        square = FLOAT(0)
        for d in range(size):
            square += own[d] * own[d]
        factor = ONE / np.sqrt(square / FLOAT(size) + FLOAT(eps))
        found = numba.carray(floats_at(out + 4 * row * size), (size,))
        for d in range(size):
            found[d] = own[d] * factor * weights[d]


@compiled
def gate(both, out, scratch, rows, width, first, last):
    """Write the sigmoid linear unit of the first half of each row, times the second, to `out`: columns first … last."""
    count = last - first
    bits = numba.carray(integers_at(scratch), (count,))
    exponents = numba.carray(floats_at(scratch), (count,))
    for row in range(rows):
        own = numba.carray(floats_at(both + 4 * (2 * row * width + first)), (count,))
        factors = numba.carray(floats_at(both + 4 * ((2 * row + 1) * width + first)), (count,))
        found = numba.carray(floats_at(out + 4 * (row * width + first)), (count,))
        for d in range(count):
            found[d] = power(-own[d] * LOG2_E, bits, d)
        for d in range(count):
            found[d] = own[d] * factors[d] / (ONE + found[d] * exponents[d])


@cache
def attention(group: int, size: int) -> Any:
    """Compile the kernel for heads of this size, of which a group shares keys and values."""

    def attend(texts, layer, kv_heads, heads, turns, weight, eps, mixed, scratch, longest):
        attend_for(texts, layer, kv_heads, heads, turns, weight, eps, mixed, scratch, longest, group, size, 0, 1)

    return compiled(attend)


@numba.njit(inline="always")
def attend_for(texts, layer, kv_heads, heads, turns, weight, eps, mixed, scratch, longest, group, size, me, crew):
    """Norm queries and keys if there is a weight, turn them, write keys and values of all texts, and
    attend into `mixed`. `texts` has a row for each text: its first row in the pass, its number of rows, the slot of the
    first, the address of its cache, slots of the cache, the address of its mask, and the mask's width. Without a mask a
    row sees itself and all slots before it. `scratch` has room for two numbers for each slot seen and query of a group.
    Threads of a crew share heads of texts."""
    width = (group + 2) * kv_heads
    for text in range(len(texts)):
        first, count, start, cache, slots, mask, pitch = texts[text]
        for head in range(kv_heads):
            if (text * kv_heads + head) % crew != me:
                continue
            for row in range(first, first + count):
                prepare(heads, turns, weight, eps, row, width, kv_heads, head, group, size)
            key = cache + 4 * size * slots * (2 * kv_heads * layer + head)
            keys = numba.carray(floats_at(key), (slots, size))
            values = numba.carray(floats_at(key + 4 * size * slots * kv_heads), (slots, size))
            for row in range(first, first + count):
                own = numba.carray(floats_at(heads + 4 * row * width * size), (group + 2, kv_heads, size))
                keys[start + row - first] = own[group, head]
                values[start + row - first] = own[group + 1, head]
            for row in range(first, first + count):
                seen = start + count if mask else start + row - first + 1
                own = numba.carray(floats_at(heads + 4 * row * width * size), (group + 2, kv_heads, size))
                found = numba.carray(floats_at(mixed + 4 * row * group * kv_heads * size), (group, kv_heads, size))
                hidden = mask + 4 * pitch * group * (row - first) if mask else 0
                attend_one(own, head, keys, values, seen, hidden, pitch, scratch, longest, group, size, found)


@numba.njit(inline="always")
def attend_one(asked, head, keys, values, seen, mask, pitch, scratch, longest, group, size, found):
    """Attend for one row of one text."""
    scores = numba.carray(floats_at(scratch), (group, longest))
    bits = numba.carray(integers_at(scratch + 4 * group * longest), (group, longest))
    exponents = numba.carray(floats_at(scratch + 4 * group * longest), (group, longest))
    score(asked, head, keys, seen, FLOAT(LOG2_E / math.sqrt(size)), group, size, scores)
    if mask:
        hide(scores, mask, pitch, seen, group)
    for g in range(group):
        shares(scores[g], bits[g], exponents[g], seen)
    mix(scores, head, values, seen, group, size, found)


@numba.njit(inline="always")
def prepare(heads, turns, weight, eps, row, width, kv_heads, head, group, size):
    """Norm and turn a key of a row, and the queries that ask it."""
    own = numba.carray(floats_at(heads + 4 * row * width * size), (width, size))
    for place in range(head, (group + 1) * kv_heads, kv_heads):
        if weight:
            normed(own[place], numba.carray(floats_at(weight + 4 * place * size), (size,)), size, FLOAT(eps))
        turn(own[place], numba.carray(floats_at(turns + 4 * row * size), (size,)), size)
