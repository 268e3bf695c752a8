"""Permissions of files: the data folder and the database hold everybody's sessions, prompts, models and
secrets."""

from __future__ import annotations

import os
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


def tighten_all(folder: Path) -> None:
    """Restrict a folder and all that is in it. Links are left alone: what they lead to may be somebody else's."""
    for at, _, names in os.walk(folder):
        tighten(Path(at), FOLDER)
        for path in (Path(at) / name for name in names):
            if not path.is_symlink():
                tighten(path, FILE)


def tighten_database(path: Path) -> None:
    """Restrict an SQLite file and those that SQLite puts beside it."""
    for each in (path, *(path.with_name(f"{path.name}-{kind}") for kind in ("wal", "shm"))):
        tighten(each, FILE)
