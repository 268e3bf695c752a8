"""Who may read files: the data folder and the database hold sessions, prompts and secrets of everybody."""

from __future__ import annotations

import stat
from pathlib import Path

FOLDER, FILE = 0o700, 0o600
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def tighten(path: Path, mode: int) -> bool:
    """Leave a folder or file to its owner alone; whether others could do anything with it until now. What belongs to
    somebody else cannot be changed, and a folder like /tmp, where everybody keeps their own, must not be."""
    try:
        found = path.stat().st_mode
        if not found & _OTHERS or found & stat.S_ISVTX:
            return False
        path.chmod(mode)
    except OSError:
        return False
    return True


def tighten_database(path: Path) -> None:
    """Likewise an SQLite file and those that SQLite puts beside it."""
    for each in (path, *(path.with_name(f"{path.name}-{kind}") for kind in ("wal", "shm"))):
        tighten(each, FILE)
