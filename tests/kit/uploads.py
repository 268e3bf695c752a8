"""Manifests of files that are sent in chunks."""

from __future__ import annotations

import hashlib
from typing import Any

CHUNK = 8 * 1024 * 1024


def pieces(content: bytes) -> list[bytes]:
    """Chunks in which a file is sent."""
    return [content[at : at + CHUNK] for at in range(0, len(content), CHUNK)]


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def manifest(**files: bytes) -> dict[str, Any]:
    """Manifest of a folder. In names `__` stands for a slash and `_` for a dot."""
    listed = [{"path": p.replace("__", "/").replace("_", "."), "size": len(c), "chunks": [sha(x) for x in pieces(c)]}
              for p, c in files.items()]  # fmt: skip
    return {"name": "a folder", "files": listed}
