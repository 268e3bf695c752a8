"""Ctrl-C once: stop after the round, and keep what is done. Twice: stop at once, and still keep it."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any


class Interrupt:
    """Asked by the decode loop before every round whether to go on."""

    def __init__(self) -> None:
        self.is_asked = False
        self._before: Any = None

    def __call__(self) -> bool:
        return self.is_asked

    def __enter__(self) -> Interrupt:
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exc: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.is_asked = True
        signal.signal(signal.SIGINT, self._before)
