"""Files of a model folder, opened only if they are regular files and read within bounds. Standard library only."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from decoding import bounded_json
from decoding.errors import BadCheckpoint

LARGEST_CONFIG = 1 << 20  # bytes
LARGEST_JSON = 64 << 20  # bytes; the tokenizer.json of 262,000 tokens has some 35 million
GGUF = b"GGUF"  # the first bytes of llama.cpp's files
WHOLE = 4 * 1024 * 1024  # bytes of a file that is read whole
SAMPLES, SAMPLE = 16, 4096  # of a larger one: how many, and bytes of each
READ_BY_LIBRARIES = (".json", ".safetensors", ".txt", ".model", ".jinja")


def check_files(folder: Path) -> None:
    """Refuse files that a library would hang on or fail with: each file that it may open must be a regular file."""
    for file in sorted(folder.iterdir()):
        if not file.name.endswith(READ_BY_LIBRARIES):
            continue
        if not file.exists():
            raise BadCheckpoint(f"{file} is a link to a file that is not there. Copy that file, or remove the link.")
        if not stat.S_ISREG(file.stat().st_mode):
            raise BadCheckpoint(f"{file} is not a regular file. Put the model's own file there, or remove it.")
        if file.suffix == ".json" and file.stat().st_size > LARGEST_JSON:
            raise BadCheckpoint(f"{file} is larger than {LARGEST_JSON:,} bytes, the most for JSON. Copy it again.")
        if file.suffix == ".json":
            _check_counts(file)


def gguf_at(path: Path) -> Path | None:
    """Return the GGUF file that a path names: itself, or the only one of a folder without safetensors."""
    is_folder = path.is_dir() and not any(path.glob("*.safetensors"))
    files = [file for file in (sorted(path.glob("*.gguf")) if is_folder else [path]) if _is_gguf(file)]
    if len(files) > 1:
        raise BadCheckpoint(f"{path} holds {len(files)} GGUF files, {files[0].name} first. Name one of them.")
    return files[0] if files else None


def refuse_gguf(path: Path) -> None:
    if file := gguf_at(path):
        raise BadCheckpoint(
            f"{file} is GGUF, the format of llama.cpp, and what was asked needs a model folder with safetensors. "
            "Take the folder that the file was made from. `./drafthouse compare` and others, and the Models page, take "
            "the file itself."
        )


def _is_gguf(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return opened.read(len(GGUF)) == GGUF


def _check_counts(file: Path) -> None:
    try:
        bounded_json.check_counts(file.read_text(encoding="latin-1"))
    except ValueError as error:
        raise BadCheckpoint(f"{file} is too large to be read: {error}. Copy it again.") from None


def read_json(file: Path, largest: int = LARGEST_JSON) -> dict[str, Any] | None:
    """Return the object in a JSON file, or None if there is no file."""
    if not file.is_file():
        return None
    if file.stat().st_size > largest:
        raise BadCheckpoint(f"{file} is larger than {largest:,} bytes, too large for such a file. Copy it again.")
    try:
        found = bounded_json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadCheckpoint(f"{file} is not JSON ({error}). Copy it again from where the model came.") from None
    if not isinstance(found, dict):
        raise BadCheckpoint(f"{file} holds no JSON object. Copy it again from where the model came.")
    return found


def contents(folder: Path) -> str:
    """Hash names, sizes and contents. Of a large file it misses a change between the samples, but not training."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.iterdir() if path.is_file()):
        size = file.stat().st_size
        digest.update(f"{file.name}\0{size}\0".encode())
        for piece in [file.read_bytes()] if size <= WHOLE else samples(file):
            digest.update(piece)
    return digest.hexdigest()


def samples(file: Path) -> Iterator[bytes]:
    """Pieces spread over a file, the first and the last among them."""
    size = file.stat().st_size
    with file.open("rb") as opened:
        for number in range(SAMPLES):
            opened.seek(max(size - SAMPLE, 0) * number // (SAMPLES - 1))
            yield opened.read(SAMPLE)
