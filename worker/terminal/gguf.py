"""GGUF files named where a command wants a model folder."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path

from decoding.errors import BadCheckpoint
from decoding.models.files import gguf_at
from worker.terminal.files import kept
from worker.terminal.guarded import allow

PER_TOKEN = 8 << 10  # bytes that a tokenizer takes while it is made and checked

_using = ExitStack()  # keeps the folders as long as the command runs


def model_folder(path: Path) -> Path:
    """Return the path, or the folder made of the GGUF file that it names."""
    try:
        file = gguf_at(path)
    except OSError:
        return path  # the next who opens it says why it cannot be read
    if file is None:
        return path
    from decoding.models.gguf.header import read_gguf
    from worker.cache import FileCache, NoRoom
    from worker.disk import NotNow
    from worker.gguf_folders import folder_of_gguf

    header = read_gguf(file)
    size = f"{header.size / 1e6:,.0f} MB"
    print(f"Reading {file.name} ({header.format}, {size}), which is made into a model folder once.", file=sys.stderr)
    allow(PER_TOKEN * len(header.values.get("tokenizer.ggml.tokens") or ()))
    try:
        return folder_of_gguf(file, FileCache(*kept("models")), _using)
    except (NoRoom, NotNow) as trouble:
        raise BadCheckpoint(str(trouble)) from None
