"""GGUF files made into model folders, once for each content, in a process of its own: strangers wrote them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from decoding.errors import BadCheckpoint
from decoding.models.files import WHOLE, samples
from decoding.models.gguf.config import names_of
from decoding.models.gguf.header import FORMATS, GgufHeader, read_gguf
from worker import apart
from worker.cache import FileCache
from worker.disk import bytes_in
from worker.hub import OnProgress, ignore

RULES = b"1"  # raise it where other folders are made of the same files


def folder_of_gguf(
    file: Path,
    cache: FileCache,
    using: ExitStack,
    may_go_on: Callable[[], bool] = lambda: True,
    on_progress: OnProgress = ignore,
) -> Path:
    """Return the model folder of a file, made first where the cache lacks it. It stays until `using` is closed. Call
    this from the main thread: the leash is tied to the one that forks."""
    header = read_gguf(file)
    names_of(header)  # refuses a family that is not read before anything is written
    due = weight_bytes(header)
    return cache.use(_name(file, header), due, lambda folder: _make(file, folder, due, may_go_on, on_progress), using)


def weight_bytes(header: GgufHeader) -> int:
    """Bytes of the dequantised weights."""
    return sum(tensor.count * (4 if FORMATS[tensor.format][0] == "F32" else 2) for tensor in header.tensors.values())


def _name(file: Path, header: GgufHeader) -> str:
    digest = hashlib.sha256(RULES + str(header.size).encode())
    with file.open("rb") as opened:
        digest.update(opened.read(WHOLE))
    for piece in samples(file):
        digest.update(piece)
    return f"gguf-{digest.hexdigest()[:32]}"


def _make(file: Path, folder: Path, due: int, may_go_on: Callable[[], bool], on_progress: OnProgress) -> None:
    try:
        apart.run(
            "worker.gguf_folders:write",
            str(file.absolute()),
            str(folder),
            doing=f"{file.name} could not be made into a model folder",
            told=(BadCheckpoint,),
            may_go_on=may_go_on,
            on_look=lambda news: on_progress(min(bytes_in(folder), due), due),
        )
    except BadCheckpoint as refusal:
        raise BadCheckpoint(str(refusal).replace(str(folder), str(file))) from None


def write(file: str, folder: str) -> None:
    """Make the folder, in the process of its own."""
    from decoding.models.gguf.reading import write_folder  # loads torch

    write_folder(Path(file), Path(folder))
