"""GGUF files made into model folders, once for each content, in a process of its own: strangers wrote them.

`python -m worker.gguf_folders FILE FOLDER` makes one.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from decoding.errors import BadCheckpoint, DrafthouseError
from decoding.models.files import WHOLE, samples
from decoding.models.gguf.config import names_of
from decoding.models.gguf.header import FORMATS, GgufHeader, read_gguf
from worker import leash
from worker.cache import FileCache
from worker.disk import DISK_FULL, NotNow, bytes_in, tells_of_full_disk
from worker.evidence import how_it_ended
from worker.hub import OnProgress, ignore

RULES = b"1"  # raise it where other folders are made of the same files
REFUSED, FAILED = 3, 4  # exit codes; the output says why


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
    pieces: list[bytes] = []

    def look(piece: bytes) -> None:
        pieces.append(piece)
        on_progress(min(bytes_in(folder), due), due)

    code = leash.watch(["worker.gguf_folders", str(file.absolute()), str(folder)], may_go_on, look)
    output = b"".join(pieces).decode().strip()
    if code == REFUSED:
        raise BadCheckpoint(output.replace(str(folder), str(file)))
    if tells_of_full_disk(output):
        raise NotNow(DISK_FULL)
    if code:
        cause = output or f"the process that makes it was {how_it_ended(code)}"
        raise NotNow(f"{file.name} could not be made into a model folder: {cause}.")


def main(file: str, folder: str) -> int:
    leash.put_on()
    from decoding.models.gguf.reading import write_folder  # loads torch

    try:
        write_folder(Path(file), Path(folder))
    except DrafthouseError as refusal:
        sys.stdout.write(str(refusal))
        return REFUSED
    except OSError as error:
        sys.stdout.write(str(error))
        return FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
