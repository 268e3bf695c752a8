"""Header of a GGUF file: its values and tensors, checked against the file's size. Standard library only.

Each count and length in the file is bounded before it is used: a hostile or torn file is refused within seconds.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from decoding.errors import BadCheckpoint

MAGIC = b"GGUF"
VERSIONS = (2, 3)
LARGEST_HEADER = 64 << 20  # bytes; 262,000 tokens with merges take some 20 MB
LONGEST_TEXT = 1 << 20  # bytes of one value; chat templates have some 10,000
LONGEST_NAME = 256  # bytes
MOST_VALUES = 10_000
MOST_ITEMS = 2 << 20  # of all lists together; 262,000 tokens with merges have 1.4 million
MOST_TENSORS = 100_000
MOST_DIMENSIONS = 4
BLOCK = 1 << 20  # bytes read at once

# Formats of tensors by ggml's number: name, numbers in a block, bytes of a block.
FORMATS = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17),
}  # fmt: skip
FILE_TYPES = {  # mixtures of formats by llama.cpp's number
    0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S", 12: "Q3_K_M",
    13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K", 32: "BF16",
}  # fmt: skip
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
TEXT, LIST = 8, 9


@dataclass(frozen=True)
class GgufTensor:
    format: int  # a key of FORMATS
    shape: tuple[int, ...]  # rows first, as torch counts
    offset: int  # from the file's start

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        _, numbers, size = FORMATS[self.format]
        return self.count // numbers * size


@dataclass(frozen=True)
class GgufHeader:
    name: str  # of the file, for sentences
    size: int  # bytes of the file
    values: Mapping[str, Any]
    tensors: Mapping[str, GgufTensor]

    @property
    def architecture(self) -> str:
        return str(self.values.get("general.architecture", "unknown"))

    @property
    def format(self) -> str:
        """Name of the file's mixture of formats, such as Q4_K_M."""
        named = FILE_TYPES.get(self.values.get("general.file_type", -1))
        weights = Counter[int]()
        for tensor in self.tensors.values():
            weights[tensor.format] += tensor.count
        return named or FORMATS[weights.most_common(1)[0][0]][0]

    def of_model(self, name: str) -> Any:
        """Value under the architecture's own prefix; None if the file has none."""
        return self.values.get(f"{self.architecture}.{name}")


def read_gguf(file: Path) -> GgufHeader:
    try:
        with file.open("rb") as opened:
            header = _parsed(_Bytes(opened), file.stat().st_size, str(file))
    except OSError as error:
        raise BadCheckpoint(f"{file} cannot be read: {error.strerror}. Make it readable, or copy it again.") from None
    except (_Torn, UnicodeDecodeError, struct.error, KeyError, OverflowError) as error:
        reason = error.args[0] if isinstance(error, _Torn) else "it is damaged"
        raise BadCheckpoint(f"{file} is not a whole GGUF file: {reason}. Copy it again.") from None
    _refuse_parts(header)
    return header


class _Torn(Exception):
    """A count, length or offset that the file cannot have."""


class _Bytes:
    """Cursor over the header, which reads blocks."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._block = b""
        self._start = 0  # in the block
        self.at = 0  # in the file
        self.items = 0  # of all lists so far

    def take(self, count: int) -> bytes:
        while len(self._block) - self._start < count:
            more = self._source.read(BLOCK)
            if not more:
                raise _Torn("it ends within its header")
            self._block, self._start = self._block[self._start :] + more, 0
        self._start += count
        self.at += count
        if self.at > LARGEST_HEADER:
            raise _Torn(f"its header has more than {LARGEST_HEADER:,} bytes")
        return self._block[self._start - count : self._start]

    def number(self, form: str) -> Any:
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))[0]

    def count(self, most: int, what: str) -> int:
        found: int = self.number("Q")
        if found > most:
            raise _Torn(f"it claims {found:,} {what}, and {most:,} are the most")
        return found

    def text(self, longest: int = LONGEST_TEXT) -> str:
        return self.take(self.count(longest, "bytes of one text")).decode("utf-8", "replace")

    def value(self) -> Any:
        kind = self.number("I")
        if kind != LIST:
            return self.text() if kind == TEXT else self.number(SCALARS[kind])
        kind, count = self.number("I"), self.count(MOST_ITEMS - self.items, "items of lists")
        self.items += count
        if kind == TEXT:
            return [self.text() for _ in range(count)]
        form = SCALARS[kind]
        return list(struct.unpack(f"<{count}{form}", self.take(count * struct.calcsize(f"<{form}"))))


def _parsed(source: _Bytes, size: int, name: str) -> GgufHeader:
    if source.take(4) != MAGIC:
        raise _Torn("it does not begin with GGUF")
    version = source.number("I")
    if version not in VERSIONS:
        raise _Torn(f"it is of version {version}, or big-endian, and versions {VERSIONS[0]} and {VERSIONS[1]} are read")
    tensor_count, value_count = source.count(MOST_TENSORS, "tensors"), source.count(MOST_VALUES, "values")
    values = {source.text(LONGEST_NAME): source.value() for _ in range(value_count)}
    found = {source.text(LONGEST_NAME): _tensor(source) for _ in range(tensor_count)}
    alignment = values.get("general.alignment", 32)
    if len(values) < value_count or len(found) < tensor_count or not found:
        raise _Torn("it names something twice, or holds no tensors")
    if type(alignment) is not int or not 1 <= alignment <= 1 << 16:
        raise _Torn("its alignment is impossible")
    start = -(-source.at // alignment) * alignment
    tensors = {key: GgufTensor(tensor.format, tensor.shape, start + tensor.offset) for key, tensor in found.items()}
    end = max(tensor.offset + tensor.bytes for tensor in tensors.values())
    if end > size:
        raise _Torn(f"its header describes {end:,} bytes and the file has {size:,}")
    return GgufHeader(name, size, values, tensors)


def _tensor(source: _Bytes) -> GgufTensor:
    dimensions = source.number("I")
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise _Torn(f"a tensor has {dimensions:,} dimensions")
    shape = tuple(source.count(1 << 40, "numbers in a row") for _ in range(dimensions))[::-1]
    form, offset = source.number("I"), source.count(1 << 50, "bytes before a tensor")
    if form not in FORMATS:
        raise _Torn(f"a tensor has the format {form}, which is not known here")
    if not all(shape) or shape[-1] % FORMATS[form][1]:
        raise _Torn("a tensor's rows are not whole blocks")
    return GgufTensor(form, shape, offset)


def _refuse_parts(header: GgufHeader) -> None:
    parts = header.values.get("split.count", 1)
    if parts != 1:
        raise BadCheckpoint(
            f"{header.name} is one of {parts} parts of a model, and Drafthouse reads GGUF in one file. "
            "Join them: llama-gguf-split --merge FIRST-PART WHOLE.gguf."
        )
