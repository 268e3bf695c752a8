"""Version of this code: the first heading of the changelog, `## 0.2.0 (unreleased)`."""

from __future__ import annotations

import functools
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"


@functools.cache
def version() -> str:
    lines = CHANGELOG.read_text(encoding="utf-8").splitlines()
    return next(line.split()[1] for line in lines if line.startswith("## "))
