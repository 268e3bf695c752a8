"""Check a model folder without loading it: is it a model, is it complete, and is it free of anything that could run?

Pickles, code and remote code are refused here. The rest the engine judges, on a sketch of the folder: the web process
keeps chunks, not folders. Checks read only the header of a weight file; the rest is a sparse file of the right length,
which takes no space and no time.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

from decoding.public import (
    LARGEST_HEADER,
    BadCheckpoint,
    inspect_folder,
    other_kind,
    read_header,
)
from webapp.core.problems import Invalid
from webapp.uploads.models import Upload, UploadedFile
from webapp.uploads.reading import FileReader

LARGEST_COPY = 64 * 1024 * 1024  # bytes of a file in a sketch; the engine reads no larger one whole
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle", ".joblib", ".npy", ".npz")
CODE = (".py", ".so", ".dll", ".sh", ".pyc", ".js", ".exe")
TEXTS = (".json", ".txt", ".md", ".jinja", ".gitattributes", ".yaml", ".yml", "license", "notice")
KNOWN = (*TEXTS, ".safetensors", ".model", ".png", ".pdf")

Facts = dict[str, Any]  # about a model, as they are stored


def examine(upload: Upload) -> Facts:
    """Return the facts, or raise Invalid with the file, its fault, and what to do. A worker looks into GGUF files."""
    files = list(upload.files.all())
    if gguf_of(files):
        return {}  # a worker tells them
    if other := other_kind([file.name for file in files], {}):  # it may have no config.json
        raise Invalid(f"This {other[0]}.", hint=other[1], code="bad-checkpoint")
    by_name = in_one_folder(files)
    if both := by_name.keys() & {str(folder) for name in by_name for folder in PurePosixPath(name).parents}:
        raise _refuse(min(both), "is a file and a folder at once")
    for name, file in by_name.items():
        _check_kind(name, file, upload.team_id)
    with tempfile.TemporaryDirectory(prefix="drafthouse-model-") as place:
        folder = sketch(upload, Path(place) / "model")
        try:
            found = inspect_folder(folder)
        except BadCheckpoint as refusal:
            sentence = str(refusal).replace(f"{folder}/", "").replace(str(folder), "The model")
            raise Invalid(sentence, code=refusal.code) from None
        if not found.vocab_size:
            raise Invalid("config.json has no valid vocab_size.", code=BadCheckpoint.code)
        return {
            **_words(found.config),
            "vocab_size": found.vocab_size,
            "layer_count": found.layers,
            "hidden_size": found.width,
            "context_length": found.context,
            "parameter_count": found.parameters,
            "weight_bytes": found.weight_bytes,
            "dtypes": [found.dtype],
        }


def sketch(upload: Upload, folder: Path) -> Path:
    """Write a folder for the engine's checks, without weights: small files whole, large ones as holes."""
    for name, file in in_one_folder(list(upload.files.all())).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        _sketch_file(file, upload.team_id, path)
    return folder


def _sketch_file(file: UploadedFile, team_id: UUID, path: Path) -> None:
    reader = FileReader(file, team_id)
    with path.open("xb") as copy:
        if file.path.endswith(".safetensors"):
            start = reader.read(8)
            copy.write(start + reader.read(min(int.from_bytes(start, "little"), LARGEST_HEADER)))
        elif file.size <= LARGEST_COPY:
            shutil.copyfileobj(reader, copy, 1 << 20)
        copy.truncate(file.size)


def check_weights(file: UploadedFile, team_id: UUID) -> None:
    """Refuse a safetensors file whose header does not account for every byte."""
    with tempfile.TemporaryDirectory(prefix="drafthouse-weights-") as place:
        path = Path(place) / file.name
        _sketch_file(file, team_id, path)
        try:
            read_header(path)
        except BadCheckpoint as refusal:
            raise Invalid(str(refusal).replace(str(path), file.path), code=refusal.code) from None


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


def _words(config: Mapping[str, Any]) -> Facts:
    """Return what the config calls its model: words that every database can hold."""
    if "auto_map" in config:
        hint = "Only architectures that transformers itself has can run; remove auto_map if yours is one."
        raise _refuse("config.json", "asks for remote code (auto_map), which is never run here", hint)
    names = config.get("architectures")
    words = {"model_type": config["model_type"], "architecture": names[0] if isinstance(names, list) and names else ""}
    for name, word in words.items():
        if not isinstance(word, str) or not word or len(word) > 80 or not word.isprintable():
            raise _refuse("config.json", f"has no valid {name}")
    return words


def _refuse(name: str, why: str, hint: str = "Send the file again, or another.") -> Invalid:
    return Invalid(f"{name} {why.removesuffix('.')}.", hint=hint, code="bad-checkpoint")
