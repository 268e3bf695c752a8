"""What a model folder holds, judged without loading anything. Standard library only: the web asks when a pair is made.

Every size is checked against the file it claims to describe before it is believed.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from decoding.errors import BadCheckpoint
from decoding.fast.names import expected_tensors
from decoding.fast.shape import Shape, shape_of

LARGEST_HEADER = 100_000_000
LARGEST_JSON = 200_000_000  # a tokenizer of 256,000 tokens has some 35 million characters
BYTES = {
    "F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "U32": 4, "F16": 2, "BF16": 2, "I16": 2, "U16": 2,
    "F8_E4M3": 1, "F8_E5M2": 1, "I8": 1, "U8": 1, "BOOL": 1,
}  # fmt: skip
DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "consolidated.00.pth")


@dataclass(frozen=True)
class TensorHeader:
    dtype: str
    shape: tuple[int, ...]

    @property
    def count(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True)
class ModelFolder:
    path: Path
    config: Mapping[str, Any]
    files: tuple[Path, ...]
    tensors: Mapping[str, TensorHeader]
    shape: Shape | None  # None: no family that the fast decoder runs

    @property
    def runner(self) -> str:
        return "transformers" if self.shape is None else "fast"

    @property
    def family(self) -> str:
        return str(self.config.get("model_type", "unknown"))

    @property
    def parameters(self) -> int:
        return sum(tensor.count for tensor in self.tensors.values())

    @property
    def weight_bytes(self) -> int:
        return sum(tensor.count * BYTES[tensor.dtype] for tensor in self.tensors.values())

    @property
    def dtype(self) -> str:
        """The dtype of most of the weights, in torch's words."""
        share: dict[str, int] = {}
        for tensor in self.tensors.values():
            share[tensor.dtype] = share.get(tensor.dtype, 0) + tensor.count
        most = max(share, key=share.__getitem__)
        return DTYPES.get(most, most.lower())

    @property
    def vocab_size(self) -> int:
        return int(self._of_text("vocab_size") or 0)

    @property
    def context(self) -> int | None:
        """How many tokens it was made for, where it says so."""
        for name in ("max_position_embeddings", "n_positions", "seq_length", "n_ctx"):
            found = self._of_text(name)
            if isinstance(found, int):
                return found
        return None

    @property
    def kv_values_per_token(self) -> int | None:
        """Numbers that one token's keys and values take, as far as the config tells."""
        if self.shape is not None:
            return self.shape.kv_values_per_token
        layers = self._of_text("num_hidden_layers") or self._of_text("n_layer")
        heads = self._of_text("num_attention_heads") or self._of_text("n_head")
        hidden = self._of_text("hidden_size") or self._of_text("n_embd")
        if not (layers and heads and hidden):
            return None
        kv_heads = self._of_text("num_key_value_heads") or heads
        return int(layers * 2 * kv_heads * (self._of_text("head_dim") or hidden // heads))

    @cached_property
    def end_tokens(self) -> frozenset[int]:
        """The ids that end a text: generation_config.json knows best, then config.json."""
        generation = read_json(self.path / "generation_config.json") or {}
        found = generation.get("eos_token_id", self._of_text("eos_token_id"))
        ids = found if isinstance(found, list) else [found]
        return frozenset(id for id in ids if isinstance(id, int))

    @cached_property
    def fingerprint(self) -> str:
        """Tells checkpoints apart without reading all of them: a sha256 over config.json without its remarks, every
        safetensors header, and sixteen 4,096-byte samples spread over each file. A change of a few single weights
        between the samples goes unseen; training does not."""
        digest = hashlib.sha256()
        said = {
            key: value for key, value in self.config.items() if key not in ("_name_or_path", "transformers_version")
        }
        digest.update(json.dumps(said, sort_keys=True).encode())
        for file in self.files:
            size = file.stat().st_size
            with file.open("rb") as opened:
                digest.update(opened.read(8 + _header_length(file)))
                for sample in range(16):
                    opened.seek(max(size - 4096, 0) * sample // 15)
                    digest.update(opened.read(4096))
        return digest.hexdigest()

    def _of_text(self, name: str) -> Any:
        """A value of the config, or of the text part of a config with several parts."""
        part = self.config.get("text_config")
        return self.config.get(name, part.get(name) if isinstance(part, dict) else None)


def inspect(folder: Path | str) -> ModelFolder:
    """Read a folder's facts, or refuse it: a BadCheckpoint says what is wrong and what to do."""
    folder = Path(folder)
    if not folder.is_dir():
        raise BadCheckpoint(f"{folder} is not a folder. Name the folder that holds the model's config.json.")
    config = read_json(folder / "config.json")
    if config is None:
        raise BadCheckpoint(
            f"{folder} has no config.json, so nothing says what kind of model it is. "
            "Name a folder as transformers saves it: config.json, *.safetensors and tokenizer files."
        )
    _check_kind(folder, config)
    files = _weight_files(folder)
    tensors: dict[str, TensorHeader] = {}
    for file in files:
        tensors |= read_header(file)
    shape = shape_of(config)
    if shape is not None:
        _check_tensors(folder, shape, tensors)
    _check_tokenizer(folder)
    return ModelFolder(folder, config, files, tensors, shape)


def read_json(file: Path) -> dict[str, Any] | None:
    """The object in a JSON file, or None where there is no file."""
    if not file.is_file():
        return None
    if file.stat().st_size > LARGEST_JSON:
        raise BadCheckpoint(f"{file} is larger than {LARGEST_JSON:,} bytes, which no such file is. Copy it again.")
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadCheckpoint(f"{file} is not JSON ({error}). Copy it again from where the model came.") from None
    if not isinstance(found, dict):
        raise BadCheckpoint(f"{file} holds no JSON object. Copy it again from where the model came.")
    return found


def read_header(file: Path) -> dict[str, TensorHeader]:
    """The tensors a safetensors file says it holds, checked against its size."""
    size = file.stat().st_size
    length = _header_length(file)
    with file.open("rb") as opened:
        opened.seek(8)
        raw = opened.read(length)
    try:
        header = json.loads(raw)
        tensors = {name: _tensor(entry) for name, entry in header.items() if name != "__metadata__"}
        end = max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError):
        raise BadCheckpoint(f"The header of {file} cannot be read: the file is damaged. Copy it again.") from None
    if 8 + length + end != size:
        raise BadCheckpoint(
            f"{file} is torn: its header describes {8 + length + end:,} bytes and the file has {size:,}. Copy it again."
        )
    return tensors


def _tensor(entry: Mapping[str, Any]) -> TensorHeader:
    header = TensorHeader(str(entry["dtype"]), tuple(int(size) for size in entry["shape"]))
    start, end = entry["data_offsets"]
    # Formats of several values per byte are not among BYTES; their sizes are left to the library that reads them.
    width = BYTES.get(header.dtype)
    if min(header.shape, default=0) < 0 or not 0 <= start <= end or (width and header.count * width != end - start):
        raise ValueError("offsets and shape disagree")
    return header


def _header_length(file: Path) -> int:
    size = file.stat().st_size
    with file.open("rb") as opened:
        first = opened.read(8)
    length = int(struct.unpack("<Q", first)[0]) if len(first) == 8 else 0
    if not 2 <= length <= min(LARGEST_HEADER, size - 8):
        raise BadCheckpoint(
            f"{file} is no whole safetensors file: it has {size:,} bytes and no header that fits them. "
            "If it came by git, the weights themselves may be missing (git lfs pull); else copy it again."
        )
    return length


def _weight_files(folder: Path) -> tuple[Path, ...]:
    index = read_json(folder / "model.safetensors.index.json")
    if index is not None:
        return _shards(folder, index)
    if (folder / "model.safetensors").is_file():
        return (folder / "model.safetensors",)
    files = tuple(sorted(folder.glob("*.safetensors")))
    if len(files) == 1:
        return files
    if files:
        raise BadCheckpoint(
            f"{folder} has {len(files)} safetensors files and no model.safetensors.index.json to say which belong "
            "together. Copy the index as well."
        )
    if any((folder / name).exists() for name in PICKLES):
        raise BadCheckpoint(
            f"{folder} has its weights as a pickle, which can run code when it is opened, so it is not read. "
            "Convert it where you trust it: load it with AutoModelForCausalLM.from_pretrained and call "
            "save_pretrained, which writes safetensors."
        )
    raise BadCheckpoint(f"{folder} has no weights. Put the model's *.safetensors files beside config.json.")


def _shards(folder: Path, index: Mapping[str, Any]) -> tuple[Path, ...]:
    where = index.get("weight_map")
    if not isinstance(where, dict) or not where or not all(isinstance(name, str) for name in where.values()):
        raise BadCheckpoint(f"{folder / 'model.safetensors.index.json'} has no weight_map. Copy it again.")
    names = sorted(set(where.values()))
    if any(Path(name).name != name for name in names):
        raise BadCheckpoint(f"The index of {folder} points outside the folder, which is not followed.")
    missing = [name for name in names if not (folder / name).is_file()]
    if missing:
        raise BadCheckpoint(
            f"{folder} lacks {len(missing)} of the {len(names)} weight files that its index names, {missing[0]} first. "
            "Copy the missing files."
        )
    return tuple(folder / name for name in names)


def _check_kind(folder: Path, config: Mapping[str, Any]) -> None:
    if not isinstance(config.get("model_type"), str):
        raise BadCheckpoint(f"{folder / 'config.json'} names no model_type, so no program can tell how to run it.")
    architectures = config.get("architectures") or []
    generates = any(
        "CausalLM" in str(name) or "LMHead" in str(name) or "Conditional" in str(name) for name in architectures
    )
    if config.get("is_encoder_decoder") or (architectures and not generates and shape_of(config) is None):
        raise BadCheckpoint(
            f"{folder} holds {', '.join(map(str, architectures)) or config['model_type']}, which continues no text. "
            "Choose a decoder-only language model (…ForCausalLM)."
        )


def _check_tensors(folder: Path, shape: Shape, tensors: Mapping[str, TensorHeader]) -> None:
    prefix = "transformer." if "transformer.wte.weight" in tensors else ""
    expected = {
        (prefix if shape.family == "gpt2" else "") + name: size for name, size in expected_tensors(shape).items()
    }
    missing = [name for name in expected if name not in tensors]
    if missing:
        raise BadCheckpoint(
            f"{folder} lacks {len(missing)} of the {len(expected)} tensors that its config.json asks for, {missing[0]} "
            "first. Config and weights belong to different models, or a file was not copied."
        )
    for name, size in expected.items():
        if tensors[name].shape != size:
            raise BadCheckpoint(
                f"{folder}: {name} is {_times(tensors[name].shape)} in the weights and {_times(size)} by config.json. "
                "Config and weights belong to different models."
            )


def _check_tokenizer(folder: Path) -> None:
    has = {
        name for name in ("tokenizer.json", "vocab.json", "merges.txt", "tokenizer.model") if (folder / name).is_file()
    }
    if not has & {"tokenizer.json", "tokenizer.model"} and not has >= {"vocab.json", "merges.txt"}:
        raise BadCheckpoint(
            f"{folder} has no tokenizer (tokenizer.json, or vocab.json with merges.txt). "
            "Copy the tokenizer files from where the model came."
        )


def _times(sizes: tuple[int, ...]) -> str:
    return " × ".join(map(str, sizes))
