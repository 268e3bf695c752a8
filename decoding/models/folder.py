"""Facts about a model folder, read without loading the model. Standard library only: the web checks new pairs with it.

Each size in a file is checked against the file itself before it is used.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from decoding.errors import BadCheckpoint
from decoding.models.config_bounds import (
    CONTEXTS,
    LAYERS,
    WIDTHS,
    check_against_tensors,
    check_numbers,
    parts,
    text_part,
)
from decoding.models.fast.shape import Shape, expected_tensors, shape_of
from decoding.models.files import LARGEST_CONFIG, check_files, read_json, refuse_gguf, samples
from decoding.models.gguf.origin import GgufOrigin, origin_of
from decoding.models.kinds import other_kind, quantization_of
from decoding.models.tensor_headers import BYTES, TensorHeader, header_length, read_header

MOST_TENSORS = 200_000
MOST_SHARDS = 2_000
LONGEST_NAME = 255  # characters; file systems allow no more
GROWING_ROPES = ("longrope", "su", "dynamic", "dynamic_ntk")  # their factors change with the length of the text
DTYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.pt", "consolidated.00.pth")


RECOPY = "Copy the model again from where it came."


@dataclass(frozen=True)
class ModelFolder:
    path: Path
    config: Mapping[str, Any]
    files: tuple[Path, ...]
    tensors: Mapping[str, TensorHeader]
    shape: Shape | None  # None: not a family that the fast decoder runs

    @property
    def runner(self) -> str:
        return "transformers" if self.shape is None else "fast"

    @property
    def family(self) -> str:
        return str(self.config.get("model_type", "unknown"))

    def check_format(self) -> None:
        """Refuse quantised weights, whose tokenizer is of use nevertheless."""
        if name := _quantization(self.path, self.config, self.tensors):
            raise BadCheckpoint(
                f"{self.path} is a quantised checkpoint ({name}), which Drafthouse does not run: use the bf16 folder "
                "of this model, or start it as a server, such as vLLM, and compare that."
            )

    @property
    def parameters(self) -> int:
        return sum(tensor.count for tensor in self.tensors.values())

    @property
    def weight_bytes(self) -> int:
        return sum(tensor.count * BYTES.get(tensor.dtype, 1) for tensor in self.tensors.values())

    @property
    def dtype(self) -> str:
        """Number format of most of the weights, by torch's name."""
        share = Counter[str]()
        for tensor in self.tensors.values():
            share[tensor.dtype] += tensor.count
        [(most, _)] = share.most_common(1)
        return DTYPES.get(most, most.lower())

    @property
    def vocab_size(self) -> int:
        return self._count("vocab_size") or 0

    @property
    def layers(self) -> int | None:
        return self._count(*LAYERS)

    @property
    def width(self) -> int | None:
        return self._count(*WIDTHS)

    @property
    def context(self) -> int | None:
        """Most tokens that a text may have, if the config says so."""
        lengths = [length for length in (self.made_for, self.rope_is_fixed_until) if length]
        return min(lengths, default=None)

    @property
    def made_for(self) -> int | None:
        """Tokens that the model was made for, if the config says so."""
        return self._count(*CONTEXTS)

    @property
    def rope_is_fixed_until(self) -> int | None:
        """Text length from which the rope's factors change. Keys cached before that keep the old factors, so drafting
        would change the text."""
        config = text_part(self.config) or self.config
        lengths = [
            rope.get("original_max_position_embeddings", config.get("original_max_position_embeddings"))
            for rope in parts(config)
            if rope.get("rope_type", rope.get("type")) in GROWING_ROPES
        ]
        return min((length for length in lengths if isinstance(length, int)), default=None)

    @property
    def kv_values_per_token(self) -> int | None:
        """Numbers per token in the cache of keys and values, as far as the config says."""
        if self.shape is not None:
            return self.shape.kv_values_per_token
        layers, hidden = self.layers, self.width
        heads = self._count("num_attention_heads", "n_head", "n_heads")
        if not (layers and heads and hidden):
            return None
        kv_heads = self._count("num_key_value_heads") or heads
        return layers * 2 * kv_heads * (self._count("head_dim") or hidden // heads)

    @cached_property
    def origin(self) -> GgufOrigin | None:
        """GGUF file that the weights were dequantised from; None if they were not."""
        return origin_of(self.path)

    @property
    def end_tokens(self) -> frozenset[int]:
        """Ids that end a text, of those in the vocabulary."""
        return frozenset(id for id in self.named_end_tokens if 0 <= id < (self.vocab_size or math.inf))

    @cached_property
    def named_end_tokens(self) -> frozenset[int]:
        """End tokens by generation_config.json, else by config.json."""
        generation = read_json(self.path / "generation_config.json", LARGEST_CONFIG) or {}
        found = generation.get("eos_token_id", self._of_text("eos_token_id"))
        ids = [] if found is None else found if isinstance(found, list) else [found]
        for id in ids:
            if type(id) is not int:
                raise BadCheckpoint(
                    f"{self.path} names the end token {id!r:.40}, which is not a token id. "
                    "Correct eos_token_id in generation_config.json or config.json."
                )
        return frozenset(ids)

    @cached_property
    def fingerprint(self) -> str:
        """Identify a checkpoint without reading all of it: sha256 over config.json without its remarks, every
        safetensors header, and 16 samples of 4,096 bytes spread over each file. It misses a change of a few single
        weights between the samples, but not training."""
        digest = hashlib.sha256()
        said = {
            key: value for key, value in self.config.items() if key not in ("_name_or_path", "transformers_version")
        }
        digest.update(json.dumps(said, sort_keys=True).encode())
        for file in self.files:
            with file.open("rb") as opened:
                digest.update(opened.read(8 + header_length(file)))
            for piece in samples(file):
                digest.update(piece)
        return digest.hexdigest()

    def _count(self, *names: str) -> int | None:
        """First of these fields that the config gives as one whole number."""
        return next((found for name in names if isinstance(found := self._of_text(name), int)), None)

    def _of_text(self, name: str) -> Any:
        """Value from the config, or from the text part of a config with several parts."""
        return self.config.get(name, text_part(self.config).get(name))


def inspect(folder: Path | str | ModelFolder) -> ModelFolder:
    """Read a folder's facts, or return them if they were read before. Raises BadCheckpoint, which says what is wrong
    and what to do."""
    if isinstance(folder, ModelFolder):
        return folder
    folder = Path(folder)
    try:
        return _inspected(folder)
    except OSError as error:
        raise BadCheckpoint(
            f"{error.filename or folder} cannot be read: {error.strerror}. Copy it again, or make it readable."
        ) from None


def _inspected(folder: Path) -> ModelFolder:
    refuse_gguf(folder)
    if not folder.is_dir():
        what = "a file, and not GGUF by its first bytes" if folder.is_file() else "not a folder"
        raise BadCheckpoint(f"{folder} is {what}. Name the folder that holds the model's config.json, or a GGUF file.")
    check_files(folder)
    config = read_json(folder / "config.json", LARGEST_CONFIG)
    if other := other_kind({file.name for file in folder.iterdir()}, config or {}):
        raise BadCheckpoint(f"{folder} {other[0]}. {other[1]}")
    if config is None:
        raise BadCheckpoint(
            f"{folder} has no config.json, so nothing says what kind of model it is. "
            "Name a folder as transformers saves it: config.json, *.safetensors and tokenizer files."
        )
    check_numbers(config, f"{folder / 'config.json'}")
    files = _weight_files(folder)
    tensors = _tensors(files)
    check_against_tensors(config, [tensor.shape for tensor in tensors.values()], f"{folder / 'config.json'}")
    _check_kind(folder, config)
    shape = None if _quantization(folder, config, tensors) else shape_of(config)
    if shape is not None:
        _check_tensors(folder, shape, tensors)
    _check_tokenizer(folder)
    model = ModelFolder(folder, config, files, tensors, shape)
    model.named_end_tokens, model.origin  # noqa: B018  refuses what these files cannot say
    return model


def _quantization(folder: Path, config: Mapping[str, Any], tensors: Mapping[str, TensorHeader]) -> str:
    names = {file.name for file in folder.iterdir()}
    return quantization_of(config, names, (tensor.dtype for tensor in tensors.values()))


def _tensors(files: Iterable[Path]) -> dict[str, TensorHeader]:
    """Tensors of all files. No two files may hold the same one."""
    found: dict[str, TensorHeader] = {}
    for file in files:
        more = read_header(file)
        if twice := found.keys() & more.keys():
            raise BadCheckpoint(f"{file} holds the tensor {min(twice)[:80]}, which another file holds too. {RECOPY}")
        found |= more
        if len(found) > MOST_TENSORS:
            raise BadCheckpoint(f"{file.parent} holds more than {MOST_TENSORS:,} tensors, which no model here has.")
    return found


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
    if any(Path(name).name != name or not name.isprintable() or len(name) > LONGEST_NAME for name in names):
        raise BadCheckpoint(f"The index of {folder} points outside the folder, which is not followed.")
    if len(names) > MOST_SHARDS:
        raise BadCheckpoint(f"The index of {folder} names {len(names):,} files; {MOST_SHARDS:,} are the most. {RECOPY}")
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
    expected = expected_tensors(shape)
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
    if not (folder / "tokenizer.json").is_file():
        raise BadCheckpoint(
            f"{folder} has no tokenizer.json. Copy it from where the model came, or let transformers make it of older "
            "files: load the tokenizer with AutoTokenizer.from_pretrained and call save_pretrained."
        )


def _times(sizes: tuple[int, ...]) -> str:
    return " × ".join(map(str, sizes))
