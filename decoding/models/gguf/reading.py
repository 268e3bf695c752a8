"""A GGUF file made into a model folder: weights dequantised, tokenizer written.

One slice of one tensor is in memory at a time.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray

from decoding.errors import BadCheckpoint
from decoding.models.checkpoints import tokenizer_of
from decoding.models.folder import inspect
from decoding.models.gguf.config import ROPE_DIVISORS, TAKE_FOLDER, config_of, names_of
from decoding.models.gguf.header import FORMATS, GgufHeader, GgufTensor, read_gguf
from decoding.models.gguf.origin import GgufOrigin
from decoding.models.gguf.tokenizer import FileVocabulary, write_tokenizer

SLICE = 1 << 22  # numbers
WIDTHS = {"F32": 4, "F16": 2, "BF16": 2}  # formats that a folder has too, and their bytes


@dataclass(frozen=True)
class _Read:
    name: str  # in the checkpoint
    tensor: GgufTensor
    dtype: str  # in the checkpoint, a key of WIDTHS
    heads: int  # rows of so many heads are put in two halves; 0: as they are
    less: float  # of each number: Gemma's norms are stored with 1 added

    @property
    def bytes(self) -> int:
        return self.tensor.count * WIDTHS[self.dtype]


def write_folder(file: Path, folder: Path) -> None:
    """Write the model of `file` into `folder`, which exists."""
    header = read_gguf(file)
    names = names_of(header)
    vocabulary = FileVocabulary(header)
    divisors = header.tensors.get(ROPE_DIVISORS)
    config = config_of(header, _floats(file, divisors, slice(None)).ravel().tolist() if divisors else ())
    write_tokenizer(vocabulary, folder)
    (folder / "config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    _write_weights(file, folder / "model.safetensors", _planned(header, names, config))
    GgufOrigin(header.format, header.size).write(folder)
    tokenizer_of(inspect(folder))  # refuses what belongs to different models, and a tokenizer that cannot be built


def _planned(header: GgufHeader, names: dict[str, str], config: dict[str, Any]) -> list[_Read]:
    turned = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    found = []
    for name, to in names.items():
        tensor, part = header.tensors[name], name.split(".")[-2]
        heads = turned.get(part, 0) if header.architecture == "llama" else 0
        if heads and tensor.shape[0] % (2 * heads):
            raise BadCheckpoint(f"{header.name}: the rows of {name} are not those of {heads} heads. {TAKE_FOLDER}")
        less = 1.0 if header.architecture == "gemma3" and to.endswith("norm.weight") else 0.0
        stored = "F32" if less else FORMATS[tensor.format][0]
        found.append(_Read(to, tensor, stored if stored in WIDTHS else "F16", heads, less))
    return found


def _write_weights(file: Path, to: Path, reads: list[_Read]) -> None:
    """Write a safetensors file."""
    entries, end = {}, 0
    for read in reads:
        places = [end, end := end + read.bytes]
        entries[read.name] = {"dtype": read.dtype, "shape": read.tensor.shape, "data_offsets": places}
    head = json.dumps({"__metadata__": {"format": "pt"}, **entries}).encode()
    with to.open("wb") as out:
        out.write(struct.pack("<Q", len(head)) + head)
        for read in reads:
            for numbers in _slices(file, read):
                out.write(numbers.data)


def _slices(file: Path, read: _Read) -> Iterator[NDArray[Any]]:
    rows = _rows(read.tensor)
    order = np.arange(rows)
    if read.heads:  # llama.cpp turns neighbours, transformers a head's two halves
        order = order.reshape(read.heads, -1, 2).swapaxes(1, 2).ravel()
    step = max(1, SLICE * rows // read.tensor.count)
    for start in range(0, rows, step):
        which = order[start : start + step]
        if read.dtype == "BF16":
            yield np.ascontiguousarray(_stored(file, read.tensor)[which])
        else:
            floats = _floats(file, read.tensor, which)
            floats = floats - np.float32(read.less) if read.less else floats
            yield floats if read.dtype == "F32" else _narrowed(floats, file)


def _floats(file: Path, tensor: GgufTensor, which: Any) -> NDArray[np.float32]:
    """Rows of a tensor as float32."""
    stored = np.ascontiguousarray(_stored(file, tensor)[which])
    form = gguf.GGMLQuantizationType(tensor.format)
    typed = stored.view({"F32": np.float32, "F16": np.float16}.get(form.name, np.uint8))
    return gguf.quants.dequantize(typed, form).astype(np.float32, copy=False)


def _stored(file: Path, tensor: GgufTensor) -> NDArray[np.uint8]:
    """Rows of a tensor as bytes, read when they are looked at."""
    rows = _rows(tensor)
    return np.memmap(file, np.uint8, "r", tensor.offset, (rows, tensor.bytes // rows))


def _rows(tensor: GgufTensor) -> int:
    """Count the rows, of which a vector of plain numbers has as many as numbers."""
    is_plain = FORMATS[tensor.format][1] == 1
    return tensor.count // (1 if is_plain and len(tensor.shape) == 1 else tensor.shape[-1])


def _narrowed(floats: NDArray[np.float32], file: Path) -> NDArray[np.float16]:
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = floats.astype(np.float16)
    if np.isinf(narrow).any() and not np.isinf(floats).any():
        raise BadCheckpoint(f"{file} holds numbers too large for float16, to which it is dequantised. {TAKE_FOLDER}")
    return narrow
