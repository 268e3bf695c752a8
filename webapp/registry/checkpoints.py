"""Check a model folder without loading it: is it a model, is it complete, and is it free of anything that could run?

Reads headers and small files only, each with a bound. It refuses torch files, pickles and remote code.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard
from uuid import UUID

from decoding.public import (
    BadCheckpoint,
    check_against_tensors,
    check_numbers,
    gguf_config,
    gguf_header,
    model_files,
    other_kind,
)
from webapp.core import strict_json
from webapp.core.problems import Invalid
from webapp.uploads.models import UploadedFile
from webapp.uploads.reading import FileReader, whole

LONGEST_HEADER = 8 * 1024 * 1024
LONGEST_CONFIG = 1024 * 1024
LONGEST_INDEX = 16 * 1024 * 1024
MOST_TENSORS = 100_000
FORMATS = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}  # as a worker names them
ITEM_BITS = {"F64": 64, "F32": 32, "F16": 16, "BF16": 16, "F8_E4M3": 8, "F8_E5M2": 8, "I64": 64, "I32": 32, "I16": 16,
             "I8": 8, "U64": 64, "U32": 32, "U16": 16, "U8": 8, "BOOL": 8}  # fmt: skip
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".npy", ".npz")
CODE = (".py", ".so", ".dll", ".sh", ".pyc", ".js", ".exe")
TEXTS = (".json", ".txt", ".md", ".jinja", ".gitattributes", ".yaml", ".yml", "license", "notice")
KNOWN = (*TEXTS, ".safetensors", ".model", ".png", ".pdf")


@dataclass(frozen=True, slots=True)
class CheckpointFacts:
    """Facts about a model, read from its folder."""

    model_type: str
    architecture: str
    vocab_size: int
    layer_count: int
    hidden_size: int
    context_length: int
    parameter_count: int
    weight_bytes: int
    dtypes: tuple[str, ...]
    tokenizer_sha256: str


def examine(files: Iterable[UploadedFile], team_id: UUID) -> CheckpointFacts:
    """Return the facts, or raise Invalid with the file, its fault, and what to do."""
    files = list(files)
    if alone := gguf_of(files):
        return _examine_gguf(alone, team_id)
    _refuse_gguf(files, team_id)
    _refuse_other_kind([file.path.rsplit("/")[-1] for file in files], {})
    by_name = in_one_folder(files)
    for name, file in by_name.items():
        _check_kind(name, file, team_id)
    config = _config(by_name, team_id)
    _refuse_other_kind(by_name, config)
    tensors = _weights(by_name, team_id)
    _check_bounds(config, tensors)
    return CheckpointFacts(
        model_type=_text(config, "model_type"),
        architecture=_architecture(config),
        vocab_size=_number(config, "vocab_size"),
        layer_count=_number(config, "num_hidden_layers", "n_layer", "num_layers"),
        hidden_size=_number(config, "hidden_size", "n_embd", "d_model"),
        context_length=_number(config, "max_position_embeddings", "n_positions", "n_ctx"),
        parameter_count=sum(tensor.item_count for tensor in tensors.values()),
        weight_bytes=sum(file.size for name, file in by_name.items() if name.endswith(".safetensors")),
        dtypes=tuple(sorted({FORMATS.get(tensor.dtype, tensor.dtype) for tensor in tensors.values()})),
        tokenizer_sha256=_tokenizer(by_name, team_id),
    )


@dataclass(frozen=True, slots=True)
class Tensor:
    dtype: str
    shape: tuple[int, ...]
    item_count: int
    start: int
    end: int


def safetensors_header(reader: FileReader, name: str) -> dict[str, Tensor]:
    """Return the tensors that a file holds; its header must account for every byte."""
    length = int.from_bytes(reader.read(8), "little")
    if not 2 <= length <= min(LONGEST_HEADER, reader.size - 8):
        raise _refuse(name, f"gives its header {length} bytes, of {reader.size} in all and {LONGEST_HEADER} allowed")
    try:
        header = strict_json.loads(reader.read(length), deepest=4)
    except ValueError as error:
        raise _refuse(name, f"has a broken header: {error}") from None
    if not isinstance(header, dict) or len(header) > MOST_TENSORS:
        raise _refuse(name, f"has a header that is not a JSON object of at most {MOST_TENSORS} tensors")
    header.pop("__metadata__", None)
    tensors = {key: _tensor(key, entry, name) for key, entry in header.items()}
    _check_coverage(tensors, reader.size - 8 - length, name)
    return tensors


def _check_coverage(tensors: Mapping[str, Tensor], weight_bytes: int, name: str) -> None:
    end = 0
    for key, tensor in sorted(tensors.items(), key=lambda item: (item[1].start, item[1].end)):
        if tensor.start != end:
            raise _refuse(name, f"has a hole or an overlap before its tensor {key[:80]!r}")
        end = tensor.end
    if end != weight_bytes:
        raise _refuse(name, f"holds {weight_bytes} bytes of weights where its header lists {end}, so a part is missing")


def _tensor(key: str, entry: Any, name: str) -> Tensor:
    if not isinstance(entry, dict) or entry.get("dtype") not in ITEM_BITS:
        raise _refuse(name, f"lists its tensor {key[:80]!r} with an unknown number format")
    shape, offsets = entry.get("shape"), entry.get("data_offsets")
    if not (_all_counts(shape) and len(shape) <= 8 and _all_counts(offsets) and len(offsets) == 2):
        raise _refuse(name, f"lists its tensor {key[:80]!r} with an impossible shape or offset")
    item_count = math.prod(shape)
    if (offsets[1] - offsets[0]) * 8 != item_count * ITEM_BITS[entry["dtype"]]:
        raise _refuse(name, f"gives its tensor {key[:80]!r} offsets that do not fit its shape")
    return Tensor(entry["dtype"], tuple(shape), item_count, *offsets)


def _all_counts(value: Any) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int and 0 <= item < 1 << 48 for item in value)


def in_one_folder(files: list[UploadedFile]) -> dict[str, UploadedFile]:
    """Return the files below the one folder that holds config.json, by name; or the GGUF file that is the model."""
    if alone := gguf_of(files):
        return {alone.path.rsplit("/")[-1]: alone}
    folders = [file.path.removesuffix("config.json") for file in files if file.path.rsplit("/")[-1] == "config.json"]
    if not folders:
        raise Invalid("There is no config.json among the files.", hint="Send the whole folder of the model.")
    folder = min(folders, key=len)
    return {file.path.removeprefix(folder): file for file in files if file.path.startswith(folder)}


def gguf_of(files: Iterable[UploadedFile]) -> UploadedFile | None:
    """Return the GGUF file of an upload without safetensors; None if there is none."""
    files = list(files)
    found = [file for file in files if file.path.lower().endswith(".gguf")]
    if not found or any(file.path.endswith(".safetensors") for file in files):
        return None
    if len(found) > 1:
        raise Invalid(f"There are {len(found)} GGUF files, and a model is one.", hint="Send one of them.")
    return found[0]


def _examine_gguf(file: UploadedFile, team_id: UUID) -> CheckpointFacts:
    try:
        header = gguf_header.parse(FileReader(file, team_id), file.size, file.path)
        gguf_config.names_of(header)
        config = gguf_config.config_of(header)
        check_numbers(config, file.path)
    except BadCheckpoint as refusal:
        raise Invalid(str(refusal), code=refusal.code) from None
    tokens = {name: value for name, value in header.values.items() if name.startswith("tokenizer.ggml.")}
    return CheckpointFacts(
        model_type=config["model_type"],
        architecture=config["architectures"][0],
        vocab_size=config["vocab_size"],
        layer_count=config["num_hidden_layers"],
        hidden_size=config["hidden_size"],
        context_length=config["max_position_embeddings"],
        parameter_count=sum(tensor.count for tensor in header.tensors.values()),
        weight_bytes=file.size,
        dtypes=(header.format,),
        tokenizer_sha256=hashlib.sha256(repr(sorted(tokens.items())).encode()).hexdigest(),
    )


def _refuse_gguf(files: Iterable[UploadedFile], team_id: UUID) -> None:
    """Refuse files of llama.cpp under other names."""
    for file in files:
        is_text = file.path.lower().endswith(TEXTS)
        if not is_text and FileReader(file, team_id).read(len(model_files.GGUF)) == model_files.GGUF:
            raise _refuse(file.path, "is GGUF, the format of llama.cpp", "Send it alone, as a file named ….gguf.")


def _refuse_other_kind(names: Collection[str], config: Mapping[str, Any]) -> None:
    """Refuse adapters, draft heads and pipelines: they are no models of their own."""
    if other := other_kind(names, config):
        raise Invalid(f"This {other[0]}.", hint=other[1], code="bad-checkpoint")


def _check_kind(name: str, file: UploadedFile, team_id: UUID) -> None:
    low = name.lower()
    if low.endswith(PICKLES):
        raise _refuse(name, "is a pickle, which can run any code when it is opened", "Convert it to safetensors first.")
    if low.endswith(CODE):
        raise _refuse(name, "is code, and Drafthouse never runs code that was sent", "Leave it out.")
    if not low.endswith(KNOWN):
        raise _refuse(name, "is of a kind that no model here needs", "Leave it out.")
    if low.endswith(TEXTS) and b"\0" in FileReader(file, team_id).read(4096):
        raise _refuse(name, "is not text, though its name says so", "Leave it out.")
    if low.endswith(".model") and FileReader(file, team_id).read(1) != b"\n":
        raise _refuse(name, "is not a SentencePiece model")


def _config(by_name: Mapping[str, UploadedFile], team_id: UUID) -> dict[str, Any]:
    config = _json(by_name, "config.json", team_id, LONGEST_CONFIG)
    if "auto_map" in config:
        hint = "Only architectures that transformers itself has can run; remove auto_map if yours is one."
        raise _refuse("config.json", "asks for remote code (auto_map), which is never run here", hint)
    return config


def _check_bounds(config: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Refuse numbers that no model has, and those that the weights disprove."""
    try:
        check_numbers(config, "config.json")
        check_against_tensors(config, [tensor.shape for tensor in tensors.values()], "config.json")
    except BadCheckpoint as refusal:
        raise Invalid(str(refusal), code=refusal.code) from None


def _weights(by_name: Mapping[str, UploadedFile], team_id: UUID) -> dict[str, Tensor]:
    shards = [name for name in by_name if name.endswith(".safetensors") and "/" not in name]
    if not shards:
        raise Invalid("There is no .safetensors file among the files.", hint="Save the model with safe_serialization.")
    tensors: dict[str, Tensor] = {}
    place: dict[str, str] = {}
    for name in shards:
        for key, tensor in safetensors_header(FileReader(by_name[name], team_id), name).items():
            if key in tensors:
                raise _refuse(name, f"holds the tensor {key[:80]!r}, which {place[key]} holds too")
            tensors[key], place[key] = tensor, name
    if "model.safetensors.index.json" in by_name:
        _check_index(_json(by_name, "model.safetensors.index.json", team_id, LONGEST_INDEX), place)
    return tensors


def _check_index(index: dict[str, Any], place: Mapping[str, str]) -> None:
    wanted = index.get("weight_map")
    if not isinstance(wanted, dict):
        raise _refuse("model.safetensors.index.json", "has no weight_map")
    for key, shard in wanted.items():
        if place.get(key) != shard:
            raise _refuse(
                "model.safetensors.index.json",
                f"places {key[:80]!r} in {str(shard)[:80]!r}, where it is not",
                "Send all shards of the model.",
            )


def _tokenizer(by_name: Mapping[str, UploadedFile], team_id: UUID) -> str:
    """Return a digest of the tokenizer's files. Equal digests mean equal tokenizers; the reverse does not hold."""
    for names in (["tokenizer.json"], ["tokenizer.model"], ["vocab.json", "merges.txt"]):
        if all(name in by_name for name in names):
            digest = hashlib.sha256()
            for name in names:
                reader = FileReader(by_name[name], team_id)
                while piece := reader.read(1 << 20):
                    digest.update(piece)
            return digest.hexdigest()
    raise Invalid(
        "There is no tokenizer among the files.",
        hint="Send tokenizer.json, or tokenizer.model, or vocab.json with merges.txt.",
    )


def _json(by_name: Mapping[str, UploadedFile], name: str, team_id: UUID, longest: int) -> dict[str, Any]:
    try:
        value = strict_json.loads(whole(by_name[name], team_id, longest=longest))
    except ValueError as error:
        raise _refuse(name, f"cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise _refuse(name, "is not a JSON object")
    return value


def _architecture(config: Mapping[str, Any]) -> str:
    names = config.get("architectures")
    if not (isinstance(names, list) and names and isinstance(names[0], str) and len(names[0]) <= 80):
        raise _refuse("config.json", "names no architecture")
    return names[0]


def _text(config: Mapping[str, Any], name: str) -> str:
    value = config.get(name)
    if not (isinstance(value, str) and 0 < len(value) <= 80):
        raise _refuse("config.json", f"has no {name}")
    return value


def _number(config: Mapping[str, Any], *names: str) -> int:
    inner = config.get("text_config")
    for source in (config, inner if isinstance(inner, dict) else {}):
        for name in names:
            if type(value := source.get(name)) is int and 0 < value < 1 << 31:
                return value
    raise _refuse("config.json", f"has no valid {names[0]}")


def _refuse(name: str, why: str, hint: str = "Send the file again, or another.") -> Invalid:
    return Invalid(f"{name} {why.removesuffix('.')}.", hint=hint, code="bad-checkpoint")
