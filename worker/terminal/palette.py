"""The colour and the mark of each strategy, as on the page: Okabe-Ito, which colour-blind eyes can tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from decoding.strategies import STRATEGIES


class Palette:
    def __init__(self, is_coloured: bool) -> None:
        self.is_coloured = is_coloured

    def mark(self, strategy: str) -> str:
        looks = STRATEGIES[strategy].looks
        return looks.glyph if looks.terminal is None else self._paint(looks.glyph, f"38;5;{looks.terminal}")

    def bold(self, text: str) -> str:
        return self._paint(text, "1")

    def dim(self, text: str) -> str:
        return self._paint(text, "2")

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_coloured else text


def palette_for(stream: TextIO, environment: Mapping[str, str]) -> Palette:
    """Colours on a terminal that has them, unless NO_COLOR asks for none (no-color.org)."""
    return Palette(stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb")
