"""Compiled arithmetic of dice on a CPU, in numba's subset of Python.

Scores come out as torch's do, to the last bit, so texts are the same without numba. Noise does up to the last bits of
its logarithms, which GPUs disagree about as well.

Addresses are integers, and everything at them is float32, laid out without gaps, unless said otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from decoding.models.fast.numba_kernels import FLOAT, floats_at, integers_at

BLOCK = 512  # columns that are searched at once
SIZE, LEAST = np.int32(0x7FFFFFFF), np.int32(-0x80000000)  # bits of a float without its sign; the least integer
WHOLE = np.int32(0x7F800000)  # bits of infinity; those of NaN are greater
MANTISSA, ONE_BITS = (1 << 52) - 1, 1023 << 52
LN_2 = math.log(2)
ROOT = math.sqrt(2)
# log((1 + s) / (1 - s)) / 2s by powers of s², to 1e-17 where s is at most (√2 - 1) / (√2 + 1)
TERMS = tuple(1 / (2 * n + 1) for n in range(12))


def _compiled(arguments: str, *liberties: str) -> Callable[[Any], Any]:
    """Compile at once, with these liberties in arithmetic alone."""
    options = {"nogil": True, "error_model": "numpy", "fastmath": {*liberties}}

    def compiled(kernel: Any) -> Any:
        try:
            return numba.njit(f"void({arguments})", cache=True, **options)(kernel)
        except RuntimeError:  # no folder for it can be written
            return numba.njit(f"void({arguments})", **options)(kernel)

    return compiled


def _seen_as(kind: Any, given: ir.Type) -> Any:
    """Make what sees the bits of a number as another kind of number."""

    @intrinsic
    def seen(context: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.bitcast(args[0], given)

        return kind(number), generate

    return seen


as_double, as_long = _seen_as(types.float64, ir.DoubleType()), _seen_as(types.int64, ir.IntType(64))


@numba.njit(inline="always")
def log(x):
    """Natural logarithm of an ordinary positive number, in steps that a compiler can do for several numbers at once."""
    bits = as_long(x)
    mantissa = as_double((bits & MANTISSA) | ONE_BITS)
    is_high = mantissa > ROOT
    part = mantissa * 0.5 if is_high else mantissa
    power = np.float64((bits >> 52) - 1023 + (1 if is_high else 0))
    s = (part - 1.0) / (part + 1.0)
    z = s * s
    tail = TERMS[8] + z * (TERMS[9] + z * (TERMS[10] + z * TERMS[11]))
    tail = TERMS[4] + z * (TERMS[5] + z * (TERMS[6] + z * (TERMS[7] + z * tail)))
    return power * LN_2 + 2.0 * (s + s * z * (TERMS[1] + z * (TERMS[2] + z * (TERMS[3] + z * tail))))


@_compiled("uint64[::1], int64, uint64, uint64, uint64, int64", "contract")
def gumbel(starts, vocab, golden, first, second, out):
    """Write the noise of each position to `out` [positions, vocab]. Its state begins at one of `starts`."""
    for row in range(len(starts)):
        found = numba.carray(floats_at(out + 4 * row * vocab), (vocab,))
        for place in range(vocab):
            state = starts[row] + np.uint64(place + 1) * golden
            state = (state ^ (state >> np.uint64(30))) * first
            state = (state ^ (state >> np.uint64(27))) * second
            state ^= state >> np.uint64(31)
            unit = (np.float64(np.int64(state >> np.uint64(11))) + 0.5) * 2.0**-53
            found[place] = FLOAT(-log(-log(unit)))


@numba.njit(inline="always")
def weigh(logits, scores, vocab, penalties, penalty, ahead):
    own, found = numba.carray(floats_at(logits), (vocab,)), numba.carray(floats_at(scores), (vocab,))
    if penalties:
        factors = numba.carray(floats_at(penalties), (vocab,))
        for place in range(vocab):
            found[place] = penalised(own[place], factors[place], penalty)
        for id in ahead:
            if 0 <= id < vocab:
                found[id] = penalised(own[id], penalty, penalty)
    else:
        for place in range(vocab):
            found[place] = own[place]


@numba.njit(inline="always")
def alter(scores, preferences, vocab, temperature, noise):
    found = numba.carray(floats_at(scores), (vocab,))
    if temperature:
        for place in range(vocab):
            found[place] /= temperature
    if noise:
        added, chosen = numba.carray(floats_at(noise), (vocab,)), numba.carray(floats_at(preferences), (vocab,))
        for place in range(vocab):
            chosen[place] = found[place] + added[place]


@numba.njit(inline="always")
def penalised(score, factor, penalty):
    """Divide what is positive and multiply what is not: with a penalty above 1, whichever is less."""
    divided, multiplied = score / factor, score * factor
    if penalty > FLOAT(1):
        return divided if divided < multiplied else multiplied
    return divided if divided > multiplied else multiplied


@numba.njit(inline="always")
def key_of(bits):
    """Return an integer that is greater for a greater float."""
    size = bits & SIZE
    return -size if bits < 0 else size


@numba.njit(inline="always")
def best(row, vocab):
    """Find the first of the greatest numbers. Integers can be compared several at once, floats cannot."""
    bits = numba.carray(integers_at(row), (vocab,))
    top, at, is_broken = LEAST, 0, False
    for start in range(0, vocab, BLOCK):
        most, end = LEAST, min(start + BLOCK, vocab)
        for place in range(start, end):
            is_broken |= (bits[place] & SIZE) > WHOLE
            key = key_of(bits[place])
            most = key if key > most else most
        if most > top:
            top, at = most, start
    if is_broken or abs(top) >= WHOLE:
        return -1
    for place in range(at, min(at + BLOCK, vocab)):
        if key_of(bits[place]) == top:
            return place
    return -1


@_compiled("int64, int64, int64, int64, int64, float32, int64[:, ::1], float32, int64, int64, int64, int64[::1]")
def choose(logits, pitch, rows, vocab, penalties, penalty, aheads, temperature, noise, scores, preferences, ids):
    """Write scores, preferences and the best id of each row, -1 where a row holds NaN or no finite best.

    A row of logits begins `pitch` numbers after the last. `penalties` [vocab], `temperature` and `noise` [rows, vocab]
    may be 0: none. `aheads` [rows, longest] holds ids that have a penalty besides, -1 where there are fewer.
    Without noise `preferences` may be `scores`."""
    for row in range(rows):
        found, chosen = scores + 4 * row * vocab, preferences + 4 * row * vocab
        weigh(logits + 4 * row * pitch, found, vocab, penalties, penalty, aheads[row])
        alter(found, chosen, vocab, temperature, noise + 4 * row * vocab if noise else 0)
        ids[row] = best(chosen, vocab)
