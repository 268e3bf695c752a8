"""The end of a text: an end token, a stop string that may straddle tokens, or no room."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from decoding.trace.events import FinishReason

Decode = Callable[[Sequence[int]], str]


@dataclass(frozen=True)
class Decoded:
    """A complete text."""

    tokens: list[int]  # without the prompt
    reason: FinishReason
    text: str | None = None  # as a server wrote it; None: decode the tokens


@dataclass(frozen=True)
class Ending:
    """End tokens and stop strings, which end a text before it is full."""

    end_tokens: Collection[int]
    stop: Sequence[str] = ()
    decode: Decode | None = None  # needed only for stop strings

    def find(self, text: Sequence[int], fresh: int, start: int = 0) -> tuple[int, Literal["eos", "stop"]] | None:
        """Return how many tokens after `start` belong to the text and why it ends there, or None while it goes on.
        Only the last `fresh` tokens are new since the question was last asked."""
        first = len(text) - fresh
        ends = [(i + 1 - start, "eos") for i in range(first, len(text)) if text[i] in self.end_tokens][:1]
        if self.stop and self.decode:
            ends += self._stops(text[start:], first - start)
        return min(ends, default=None)  # type: ignore[return-value]

    def _stops(self, generated: Sequence[int], first: int) -> list[tuple[int, str]]:
        if not self._holds_stop(generated):
            return []
        return [(n, "stop") for n in range(first + 1, len(generated) + 1) if self._holds_stop(generated[:n])][:1]

    def text(self, generated: Sequence[int]) -> str:
        """Decode the tokens, without the stop string that ended them."""
        if self.decode is None:
            return ""
        words = self.decode(generated)
        return words[: min((at for at in map(words.find, self.stop) if at >= 0), default=len(words))]

    def _holds_stop(self, tokens: Sequence[int]) -> bool:
        assert self.decode is not None
        words = self.decode(tokens)
        return any(text in words for text in self.stop)
