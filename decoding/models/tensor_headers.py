"""Header of a safetensors file: the tensors that it lists, checked against the file's size. Standard library only."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decoding import bounded_json
from decoding.errors import BadCheckpoint

LARGEST_HEADER = 8 << 20  # bytes; 1,000 tensors take some 0.1 MiB
MOST_DIMENSIONS = 8
BYTES = {
    "F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2,
    "F8_E4M3": 1, "F8_E5M2": 1, "I8": 1, "U8": 1, "BOOL": 1,
}  # fmt: skip


@dataclass(frozen=True)
class TensorHeader:
    dtype: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        return math.prod(self.shape)


def read_header(file: Path) -> dict[str, TensorHeader]:
    """Tensors that a safetensors file lists, checked against its size."""
    size = file.stat().st_size
    length = header_length(file)
    with file.open("rb") as opened:
        opened.seek(8)
        raw = opened.read(length)
    try:
        header = bounded_json.loads(raw.decode())
        entries = {name: entry for name, entry in header.items() if name != "__metadata__"}
        tensors = {name: _tensor(entry) for name, entry in entries.items()}
        end = _end_of([entry["data_offsets"] for entry in entries.values()])
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        raise BadCheckpoint(f"The header of {file} cannot be read: the file is damaged. Copy it again.") from None
    if 8 + length + end != size:
        raise BadCheckpoint(
            f"{file} is torn: its header describes {8 + length + end:,} bytes and the file has {size:,}. Copy it again."
        )
    return tensors


def _end_of(places: list[list[int]]) -> int:
    """End of the last tensor. Each tensor must begin at the end of the one before."""
    end = 0
    for start, after in sorted(places):
        if start != end:
            raise ValueError("a hole or an overlap")
        end = after
    return end


def _tensor(entry: Mapping[str, Any]) -> TensorHeader:
    header = TensorHeader(str(entry["dtype"]), tuple(entry["shape"]))
    start, end = entry["data_offsets"]
    if not header.dtype.isidentifier():
        raise ValueError("no name of a format")
    if not all(type(number) is int for number in (*header.shape, start, end)) or len(header.shape) > MOST_DIMENSIONS:
        raise ValueError("no whole numbers")
    # BYTES has no formats with several values per byte; the library that reads them checks their sizes.
    width = BYTES.get(header.dtype)
    if min(header.shape, default=0) < 0 or not 0 <= start <= end or (width and header.count * width != end - start):
        raise ValueError("offsets and shape disagree")
    return header


def header_length(file: Path) -> int:
    """Length of the header in bytes. Refuses a length that makes no sense."""
    size = file.stat().st_size
    with file.open("rb") as opened:
        first = opened.read(8)
    length = int(struct.unpack("<Q", first)[0]) if len(first) == 8 else 0
    if not 2 <= length <= min(LARGEST_HEADER, size - 8):
        raise BadCheckpoint(
            f"{file} is not a whole safetensors file: it has {size:,} bytes and no header that fits them and the "
            f"{LARGEST_HEADER:,} bytes that a header may have. "
            "If it came by git, the weights themselves may be missing (git lfs pull); else copy it again."
        )
    return length
