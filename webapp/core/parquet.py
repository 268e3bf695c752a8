"""Write plain Parquet files as a stream. Standard library only: the web process loads no library for tables.

A file is some row groups and a footer, which says where they lie. Here each group has one page per column, no value is
null, and pages are gzipped. The footer is in Thrift's compact encoding.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

ROWS_AT_ONCE = 20_000
MAGIC = b"PAR1"
INT64, DOUBLE, TEXT = 2, 5, 6  # physical types
UTF8, PLAIN, RLE, GZIP = 0, 0, 3, 2
I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12  # Thrift's types
KINDS = {int: INT64, float: DOUBLE, str: TEXT}

Row = Sequence[Any]
Field = tuple[int, int, Any]  # id, Thrift's type, value


def parquet(columns: Mapping[str, type], rows: Iterable[Row], at_once: int = ROWS_AT_ONCE) -> Iterator[bytes]:
    """Yield the parts of a file. Columns are of int, float or str; a group has `at_once` rows."""
    yield MAGIC
    at, groups, count, source = len(MAGIC), [], 0, iter(rows)
    while batch := list(islice(source, at_once)):
        chunks = []
        for (name, kind), values in zip(columns.items(), zip(*batch, strict=True), strict=True):
            page, metadata = _page(name, kind, values, at)
            yield page
            chunks.append(_struct((2, I64, at), (3, STRUCT, metadata)))
            at += len(page)
        groups.append(_struct((1, LIST, (STRUCT, chunks)), (2, I64, at), (3, I64, len(batch))))
        count += len(batch)
    footer = _footer(columns, count, groups)
    yield footer + struct.pack("<I", len(footer)) + MAGIC


def _page(name: str, kind: type, values: Sequence[Any], at: int) -> tuple[bytes, bytes]:
    """Return a page with its header, and the metadata of the column chunk that it is."""
    plain = _plain(kind, values)
    packed = gzip.compress(plain, 6, mtime=0)
    head = _struct((1, I32, len(values)), (2, I32, PLAIN), (3, I32, RLE), (4, I32, RLE))
    page = _struct((1, I32, 0), (2, I32, len(plain)), (3, I32, len(packed)), (5, STRUCT, head)) + packed
    metadata = _struct(
        (1, I32, KINDS[kind]),
        (2, LIST, (I32, [_number(PLAIN)])),
        (3, LIST, (BINARY, [_text(name)])),
        (4, I32, GZIP),
        (5, I64, len(values)),
        (6, I64, len(page) - len(packed) + len(plain)),
        (7, I64, len(page)),
        (9, I64, at),
    )
    return page, metadata


def _plain(kind: type, values: Sequence[Any]) -> bytes:
    if kind is str:
        texts = [value.encode() for value in values]
        return b"".join(struct.pack("<I", len(text)) + text for text in texts)
    return struct.pack(f"<{len(values)}{'q' if kind is int else 'd'}", *values)


def _footer(columns: Mapping[str, type], count: int, groups: list[bytes]) -> bytes:
    root = _struct((4, BINARY, _text("rows")), (5, I32, len(columns)))
    leaves = [_leaf(name, kind) for name, kind in columns.items()]
    made_by = _text("Drafthouse")
    return _struct(
        (1, I32, 1), (2, LIST, (STRUCT, [root, *leaves])), (3, I64, count), (4, LIST, (STRUCT, groups)),
        (6, BINARY, made_by),
    )  # fmt: skip


def _leaf(name: str, kind: type) -> bytes:
    fields: list[Field] = [(1, I32, KINDS[kind]), (3, I32, 0), (4, BINARY, _text(name))]
    return _struct(*fields, *([(6, I32, UTF8)] if kind is str else []))


def _struct(*fields: Field) -> bytes:
    """Encode fields with rising ids."""
    made, before = b"", 0
    for number, kind, value in fields:
        made += bytes([(number - before) << 4 | kind]) + _value(kind, value)
        before = number
    return made + b"\0"


def _value(kind: int, value: Any) -> bytes:
    if kind in (I32, I64):
        return _number(value)
    if kind == LIST:
        inner, values = value
        head = bytes([len(values) << 4 | inner]) if len(values) < 15 else bytes([0xF0 | inner]) + _varint(len(values))
        return head + b"".join(values)
    return bytes(value)  # texts and structs are encoded already


def _number(value: int) -> bytes:
    return _varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return _varint(len(encoded)) + encoded
