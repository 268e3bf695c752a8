"""What a planner and a pace look at of a draft, whoever made it: the engine or a simulation. Standard library only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from decoding.events import Backup, Source


class Judged(Protocol):
    @property
    def tokens(self) -> Sequence[int]: ...
    @property
    def source(self) -> Source: ...
    @property
    def backup(self) -> Backup: ...
