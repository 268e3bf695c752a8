"""Manifests of files that are sent in chunks."""

from __future__ import annotations

import hashlib
import io
from typing import Any

from webapp.accounts.actor import Actor
from webapp.uploads import services
from webapp.uploads.models import Upload, UploadedFile

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


def sent(by: Actor, name: str, content: bytes) -> Upload:
    """An upload of one file, sent in chunks."""
    file = UploadedFile(path=name, size=len(content), chunks=[sha(piece) for piece in pieces(content)])
    upload = services.begin(name=name, files=[file], by=by)
    for piece in pieces(content):
        services.receive(upload=upload, sha256=sha(piece), stream=io.BytesIO(piece), by=by)
    return services.complete(upload=upload, by=by)
