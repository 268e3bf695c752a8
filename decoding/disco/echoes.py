"""Where a text has been before. A large model takes more from its context than a small one, so what followed the same
tokens earlier in the text tells much about whether the target will agree with the draft. Standard library only."""

from __future__ import annotations

import copy
from collections.abc import Sequence

LONGEST = 3  # contexts of one, two and three tokens

Followers = dict[tuple[int, ...], int]


class Echoes:
    """After the text's last one, two, three tokens: what came next, the last time they stood there."""

    def __init__(self) -> None:
        self._committed: Followers = {}
        self._drafted: Followers = {}  # the same for the round's own tokens, which may not stay
        self._read = 0
        self._last: list[int] = []
        self._here: list[tuple[int, ...]] = []  # the contexts that the last tokens make

    def follow(self, text: Sequence[int]) -> None:
        """A round begins after `text`, which is what it was, or longer."""
        for end in range(self._read, len(text)):
            for context in _contexts(text[max(0, end - LONGEST) : end]):
                self._committed[context] = text[end]
        self._read = len(text)
        self._drafted.clear()
        self._stand(list(text[-LONGEST:]))

    def fork(self) -> Echoes:
        """Another that has drafted the same, and goes on by itself. Both share the text."""
        other = copy.copy(self)
        other._drafted = dict(self._drafted)
        return other

    def next(self) -> int | None:
        """What came next then, after the longest context that is known."""
        for context in reversed(self._here):
            before = self._before(context)
            if before is not None:
                return before
        return None

    def of(self, token: int) -> list[float]:
        """By length of the context: 1 if this token came next then, -1 if another did, 0 if nothing is known."""
        echoes = [0.0] * LONGEST
        for length, context in enumerate(self._here):
            before = self._before(context)
            if before is not None:
                echoes[length] = 1.0 if before == token else -1.0
        return echoes

    def take(self, token: int) -> None:
        """The draft goes on with this token."""
        for context in self._here:
            self._drafted[context] = token
        self._stand([*self._last[1 - LONGEST :], token])

    def _before(self, context: tuple[int, ...]) -> int | None:
        return self._drafted.get(context, self._committed.get(context))

    def _stand(self, last: list[int]) -> None:
        self._last, self._here = last, _contexts(last)


def _contexts(last: Sequence[int]) -> list[tuple[int, ...]]:
    """The last token, the last two, the last three; as many as there are."""
    return [tuple(last[-length:]) for length in range(1, len(last) + 1)]
