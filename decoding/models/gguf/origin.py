"""Note beside a folder's weights about the GGUF file that they were made from. Standard library only."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from decoding.errors import BadCheckpoint
from decoding.models.files import read_json

FILE = "gguf.json"


@dataclass(frozen=True)
class GgufOrigin:
    """The GGUF file whose weights a folder holds dequantised. Not its name: all files of this content share the folder,
    those of other teams too."""

    format: str  # such as Q4_K_M
    size: int  # bytes

    def write(self, folder: Path) -> None:
        (folder / FILE).write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")

    def __str__(self) -> str:
        return f"a GGUF file ({self.format}, {self.size / 1e6:,.0f} MB)"


def about_speed(role: str, file: str) -> str:
    """Say whose speed is measured, of a model that was made from `file`, a GgufOrigin in words."""
    return (
        f"The {role} was dequantised from {file}: its speed is that of the dequantised weights, not that of the file "
        "in llama.cpp."
    )


def origin_of(folder: Path) -> GgufOrigin | None:
    """Return what the folder was made from; None if it was not made from a GGUF file."""
    kept = read_json(folder / FILE, 1 << 12)
    if kept is None:
        return None
    try:
        return GgufOrigin(str(kept["format"])[:20], int(kept["size"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        raise BadCheckpoint(f"{folder / FILE} does not say which file the weights are from. Remove it.") from None
