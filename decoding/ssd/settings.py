"""What an `ssd` choice asks for, checked before anything runs. Standard library only: the spec reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Backup = Literal["neural", "ngram", "random"]


@dataclass(frozen=True)
class Settings:
    """Plain data: it travels to the process that drafts."""

    lookahead: int = 4
    branches: int = 12
    fanout: str = "geometric"
    backup: Backup | Literal["auto"] = "auto"
    constant: float = 1.0  # Saguaro sampling's C
