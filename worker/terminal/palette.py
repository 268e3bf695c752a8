"""The colour and the mark of each strategy, as on the page: Okabe-Ito, which colour-blind eyes can tell apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

# Nearest entries of the 256-colour table, which terminals have had for longer than colours of their own mixing.
MARKS: dict[str, tuple[str, int | None]] = {
    "autoregressive": ("●", 246),  # grey
    "static": ("■", 25),  # blue
    "heuristic": ("▲", 74),  # sky blue
    "threshold": ("◆", 111),  # lighter still
    "oracle": ("○", None),  # black or white, whichever the terminal writes in
    "disco": ("★", 214),  # orange
    "ssd": ("▼", 97),  # purple
    "ssd-disco": ("◀", 166),  # vermilion
    "assisted": ("✚", 36),  # green
}


class Palette:
    def __init__(self, is_coloured: bool) -> None:
        self.is_coloured = is_coloured

    def mark(self, strategy: str) -> str:
        mark, colour = MARKS[strategy]
        return self._paint(mark, f"38;5;{colour}") if colour is not None else mark

    def bold(self, text: str) -> str:
        return self._paint(text, "1")

    def dim(self, text: str) -> str:
        return self._paint(text, "2")

    def _paint(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.is_coloured else text


def palette_for(stream: TextIO, environment: Mapping[str, str]) -> Palette:
    """Colours on a terminal that has them, unless NO_COLOR asks for none (no-color.org)."""
    return Palette(stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb")
