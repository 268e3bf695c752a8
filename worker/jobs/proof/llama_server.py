"""llama-server on a pair of ours: its program, the pair as GGUF files that are written once, and its command."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from decoding.errors import BadPair, BadServer
from webapp.core.version import release
from worker.cache import FileCache, NoRoom
from worker.disk import NotNow

if TYPE_CHECKING:
    from decoding.backends.pair import ModelPair  # loads torch

VARIABLE = "DRAFTHOUSE_LLAMA_SERVER"
PROGRAM = "llama-server"
DTYPE = "float16"  # of the matrices, as `export gguf` writes them
FILE = "model.gguf"
READ = (".safetensors", ".json", ".txt", ".jinja")  # files that a GGUF file is made from


def program() -> str:
    """Find llama-server: the operator's setting, else on the path."""
    named = os.environ.get(VARIABLE, "")
    if found := shutil.which(named or PROGRAM):
        return found
    if named:
        raise BadServer(f"{VARIABLE} is {named}, and that is not a program. Set it to the path of {PROGRAM}.")
    raise BadServer(
        f"There is no {PROGRAM} on this machine, so nothing can be proved on llama.cpp. Build or install llama.cpp, "
        f"and put {PROGRAM} on PATH or set {VARIABLE} to its path."
    )


@dataclass(frozen=True, slots=True)
class GgufPair:
    """A pair as llama.cpp reads it."""

    target: Path
    draft: Path


def weights(pair: ModelPair, cache: FileCache, using: ExitStack, cancelled: Callable[[], bool]) -> GgufPair:
    """Write the pair into the cache unless it is there. It stays there until `using` is closed."""
    if pair.bridge or pair.draft_folder is None or pair.target_folder is None:
        raise BadPair("llama.cpp needs a draft with the target's tokenizer. Take a pair with such a draft.")
    cache.folder.mkdir(parents=True, exist_ok=True)
    try:
        return GgufPair(*(_file(folder, cache, using, cancelled) for folder in (pair.target_folder, pair.draft_folder)))
    except (NoRoom, NotNow) as trouble:
        raise BadServer(f"The pair cannot be kept as GGUF. {trouble}") from None


def _file(folder: Path, cache: FileCache, using: ExitStack, cancelled: Callable[[], bool]) -> Path:
    from decoding.models.gguf.writing import export_of, write

    export = export_of(folder)

    def look(tensors: int) -> None:
        if cancelled():
            raise KeyboardInterrupt

    size = 2 * export.folder.parameters
    return cache.use(_key(folder), size, lambda to: write(export, to / FILE, DTYPE, look), using) / FILE


def _key(folder: Path) -> str:
    """Name a file by all that it is made from: weights, config, tokenizer, and our version, which writes it."""
    digest = hashlib.sha256(f"{release()} {DTYPE}".encode())
    for path in _sources(folder):
        digest.update(path.name.encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:32]


def _sources(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.iterdir()) if path.suffix in READ and path.is_file())


def command(
    found: str, weights: GgufPair, *, threads: int, context: int, on_cpu: bool, options: Sequence[str] = ()
) -> list[str]:
    """Make the command of a server for one user that keeps nothing of earlier prompts."""
    alone = ["--parallel", "1", "--cache-ram", "0", "--host", "127.0.0.1", "--port", "{port}"]
    size = ["-t", str(threads), "-c", str(context)]
    return [found, "-m", str(weights.target), *size, *alone, *(["--device", "none"] if on_cpu else []), *options]
