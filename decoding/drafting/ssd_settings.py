"""Settings of an `ssd` choice, checked before anything runs. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# `events.Backup` is what then drafted
WantedBackup = Literal["auto", "neural", "ngram", "random", "copy"]


MOST_BRANCHES = 16  # that one text asks for if their number is left open


@dataclass(frozen=True)
class SpeculatorSettings:
    """Plain data: it travels to the process that drafts."""

    lookahead: int = 4
    branches: int | None = 12  # None: as many as pay
    fanout: str = "geometric"
    backup: WantedBackup = "auto"
    constant: float = 1.0  # Saguaro sampling's C

    @property
    def most_branches(self) -> int:
        """The most branches that one text may ask for."""
        return MOST_BRANCHES if self.branches is None else self.branches
