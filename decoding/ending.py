"""When a text is complete: an end token, a stop string that may straddle tokens, or no room."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from decoding.events import FinishReason

Decode = Callable[[Sequence[int]], str]


@dataclass(frozen=True)
class Decoded:
    """A complete text."""

    tokens: list[int]  # without the prompt
    reason: FinishReason


@dataclass(frozen=True)
class Ending:
    """What ends a text before it is full."""

    end_tokens: Collection[int]
    stop: Sequence[str] = ()
    decode: Decode | None = None  # needed only for stop strings

    def find(self, generated: Sequence[int], fresh: int) -> tuple[int, Literal["eos", "stop"]] | None:
        """How many of the generated tokens belong to the text, and why it ends there; None while it goes on. Only
        the last `fresh` tokens are new since the question was last asked."""
        start = len(generated) - fresh
        ends = [(start + i + 1, "eos") for i, token in enumerate(generated[start:]) if token in self.end_tokens][:1]
        if self.stop and self.decode and self._holds_stop(generated):
            ends += [(n, "stop") for n in range(start + 1, len(generated) + 1) if self._holds_stop(generated[:n])][:1]
        return min(ends, default=None)  # type: ignore[return-value]

    def text(self, generated: Sequence[int]) -> str:
        """The words, without the stop string that ended them."""
        if self.decode is None:
            return ""
        words = self.decode(generated)
        return words[: min((at for at in map(words.find, self.stop) if at >= 0), default=len(words))]

    def _holds_stop(self, tokens: Sequence[int]) -> bool:
        assert self.decode is not None
        words = self.decode(tokens)
        return any(text in words for text in self.stop)
