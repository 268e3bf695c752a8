"""Manifests of files that are sent in chunks."""

from __future__ import annotations

import hashlib

CHUNK = 8 * 1024 * 1024


def pieces(content: bytes) -> list[bytes]:
    return [content[at : at + CHUNK] for at in range(0, len(content), CHUNK)]


def sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def manifest(**files: bytes) -> dict:
    listed = [{"path": p.replace("__", "/").replace("_", "."), "size": len(c), "chunks": [sha(x) for x in pieces(c)]}
              for p, c in files.items()]  # fmt: skip
    return {"name": "a folder", "files": listed}
