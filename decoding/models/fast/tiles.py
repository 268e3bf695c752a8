"""Matrices in tiles, and their product with a few rows: compiled loops over vectors of the processor.

A tile is what 32 outputs take from every input, input by input, so a product reads its matrix once, from front to back,
and a row gets the same numbers in any company. Weights are float32, or float16 that is widened as it is read; the
arithmetic is float32. Numbers are addresses, as in `numba_kernels`.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from decoding.models.fast.crew import GIVEN, SIZE, Crewed, share, take
from decoding.models.fast.numba_kernels import floats_at, numbers_at

WIDTH = 32  # outputs of a tile
MOST = 12  # rows that one reading of a tile serves: their sums fit into the registers of AVX-512
LANES = 16
LINE, AHEAD = 64, 4096  # bytes of a cache line; how far ahead weights are fetched, which saves a tenth from 8 rows on
NUMBER, INDEX = ir.IntType(64), ir.IntType(32)
FLOAT, HALF = ir.FloatType(), ir.HalfType()
FLOATS = ir.VectorType(FLOAT, LANES)


def _tile(stored: ir.Type) -> Any:
    """Make what multiplies one tile with 1 … MOST rows, and writes their sums over `width` inputs to `out`, a row every
    `size` numbers. `turned` holds the rows' numbers input by input."""

    @intrinsic
    def tile(context: Any, rows: Any, turned: Any, weights: Any, width: Any, out: Any, size: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            rows, *places, out, size = args
            after = builder.append_basic_block()
            choice = builder.switch(rows, after)
            for count in range(1, MOST + 1):
                case = builder.append_basic_block()
                choice.add_case(NUMBER(count), case)
                builder.position_at_end(case)
                _write(builder, _sums(builder, stored, count, *places), out, size)
                builder.branch(after)
            builder.position_at_end(after)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6), generate

    return tile


def _write(builder: Any, sums: list[Any], out: Any, size: Any) -> None:
    for place, value in enumerate(sums):
        row, part = divmod(place, WIDTH // LANES)
        to = builder.add(out, builder.add(builder.mul(size, NUMBER(4 * row)), NUMBER(4 * LANES * part)))
        builder.store(value, builder.inttoptr(to, FLOATS.as_pointer()), align=4)


def _sums(builder: Any, stored: ir.Type, rows: int, turned: Any, weights: Any, width: Any) -> list[Any]:
    """Loop over the inputs. The sums of all rows stay in registers."""
    before, loop, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(loop)
    builder.position_at_end(loop)
    step = builder.phi(NUMBER)
    so_far = [builder.phi(FLOATS) for _ in range(rows * WIDTH // LANES)]
    tile = _widened(builder, stored, weights, step)
    given = builder.add(turned, builder.mul(step, NUMBER(4 * rows)))
    found: list[Any] = []
    for row in range(rows):
        number = _spread(builder, _loaded(builder, FLOAT, given, row, 4))
        found += [_added(builder, number, part, so_far[len(found) + place]) for place, part in enumerate(tile)]
    following = builder.add(step, NUMBER(1))
    for value, first, later in zip(
        (step, *so_far), (NUMBER(0), *[FLOATS([0.0] * LANES)] * len(found)), (following, *found), strict=True
    ):
        value.add_incoming(first, before)
        value.add_incoming(later, loop)
    builder.cbranch(builder.icmp_signed("<", following, width), loop, after)
    builder.position_at_end(after)
    return found


def _widened(builder: Any, stored: ir.Type, weights: Any, step: Any) -> list[Any]:
    """Load the weights of one input, as float32."""
    kind, size = ir.VectorType(stored, LANES), (4 if stored == FLOAT else 2) * LANES
    parts = range(WIDTH // LANES)
    given = builder.add(weights, builder.mul(step, NUMBER(size * len(parts))))
    for line in range(0, size * len(parts), LINE):
        _fetch(builder, builder.add(given, NUMBER(AHEAD + line)))
    found = [_loaded(builder, kind, given, part, size) for part in parts]
    return found if stored == FLOAT else [builder.fpext(part, FLOATS) for part in found]


def _fetch(builder: Any, address: Any) -> None:
    """Let the processor load what lies there, if anything does."""
    byte = ir.IntType(8).as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [byte, INDEX, INDEX, INDEX])
    fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
    builder.call(fetch, [builder.inttoptr(address, byte), INDEX(0), INDEX(3), INDEX(1)])  # to read, near, data


def _loaded(builder: Any, kind: ir.Type, base: Any, place: int, size: int) -> Any:
    """Load an item of an array of items of this size."""
    at = builder.add(base, NUMBER(place * size))
    return builder.load(builder.inttoptr(at, kind.as_pointer()), align=4)


def _spread(builder: Any, number: Any) -> Any:
    one = builder.insert_element(FLOATS(ir.Undefined), number, INDEX(0))
    return builder.shuffle_vector(one, FLOATS(ir.Undefined), ir.VectorType(INDEX, LANES)([0] * LANES))


def _added(builder: Any, number: Any, part: Any, so_far: Any) -> Any:
    kind = ir.FunctionType(FLOATS, [FLOATS] * 3)
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, "llvm.fma.v16f32"), [number, part, so_far])


float_tile, half_tile = _tile(FLOAT), _tile(HALF)


@numba.njit(inline="always")
def turn_rows(rows, turned, count, width, group):
    """Lay the numbers of each group of rows out input by input."""
    for first in range(0, count, group):
        some = min(group, count - first)
        own = numba.carray(floats_at(rows + 4 * first * width), (some, width))
        found = numba.carray(floats_at(turned + 4 * first * width), (width, some))
        for place in range(width):
            for row in range(some):
                found[place, row] = own[row, place]


@numba.njit(error_model="numpy", nogil=True)
def product(rows, weights, item, out, count, width, size, turned, first, last):
    """Write `rows` [count, width] times tiles first … last to `out` [count, size]. A weight takes `item` bytes, and
    `turned` has room for the rows."""
    group = 1
    if count == 1:
        turned = rows
    else:
        readings = (count + MOST - 1) // MOST
        group = (count + readings - 1) // readings
        turn_rows(rows, turned, count, width, group)
    for tile in range(first, last):
        own = weights + item * WIDTH * width * tile
        for row in range(0, count, group):
            some, given = min(group, count - row), turned + 4 * row * width
            to = out + 4 * (row * size + WIDTH * tile)
            if item == 2:
                half_tile(some, given, own, width, to, size)
            else:
                float_tile(some, given, own, width, to, size)


def _shared(sources: int) -> Any:
    def shared(numbers):
        """Write a whole product. `turned` has room for the rows of each thread."""
        if not sources:
            return
        me, given = take(numbers), numba.carray(numbers_at(numbers), (GIVEN + 8,))
        crew, (rows, weights, item, out, count, width, size, turned) = given[SIZE], given[GIVEN:]
        first, last = share(me, crew, size // WIDTH)
        product(rows, weights, item, out, count, width, size, turned + 4 * me * count * width, first, last)

    return shared


shared_product = Crewed(_shared)
