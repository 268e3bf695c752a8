"""Settings of an `ssd` choice, checked before anything runs. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

WantedBackup = Literal[
    "auto", "by-batch", "neural", "ngram", "random", "copy", "copy-or-random"
]  # `events.Backup` is what then drafted


@dataclass(frozen=True)
class Settings:
    """Plain data: it travels to the process that drafts."""

    lookahead: int = 4
    branches: int = 12
    fanout: str = "geometric"
    backup: WantedBackup = "auto"
    constant: float = 1.0  # Saguaro sampling's C
