"""Permissions of files: the data folder and the database hold everybody's sessions, prompts and secrets."""

from __future__ import annotations

import stat
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def tighten(path: Path, mode: int) -> bool:
    """Restrict a folder or file to its owner; return whether others had access until now. Files of another owner cannot
    be changed, and a shared folder like /tmp must not be."""
    try:
        found = path.stat().st_mode
        if not found & _OTHERS or found & stat.S_ISVTX:
            return False
        path.chmod(mode)
    except OSError:
        return False
    return True


def tighten_database(path: Path) -> None:
    """Restrict an SQLite file and those that SQLite puts beside it."""
    for each in (path, *(path.with_name(f"{path.name}-{kind}") for kind in ("wal", "shm"))):
        tighten(each, FILE)
