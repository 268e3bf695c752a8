"""Echoes: whether the text's last tokens occurred earlier in it, and what followed them. Standard library only.

A large model uses more of its context than a small one, so a repetition tells much about whether the target will agree
with the draft.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

LONGEST = 3  # contexts of 1, 2 and 3 tokens

Followers = dict[tuple[int, ...], int]


class Echoes:
    """Remembers which token last followed each context of 1, 2 or 3 tokens."""

    def __init__(self) -> None:
        self._committed: Followers = {}
        self._drafted: Followers = {}  # the same for the round's own tokens, which may be refused
        self._read = 0
        self._last: list[int] = []
        self._here: list[tuple[int, ...]] = []  # contexts that end with the last token

    def follow(self, text: Sequence[int]) -> None:
        """Begin a round after `text`, which may have grown since the last round."""
        for end in range(self._read, len(text)):
            for context in _contexts(text[max(0, end - LONGEST) : end]):
                self._committed[context] = text[end]
        self._read = len(text)
        self._drafted.clear()
        self._stand(list(text[-LONGEST:]))

    def fork(self) -> Echoes:
        """Copy the echoes, so that a branch can draft on alone. Both copies share the text."""
        other = copy.copy(self)
        other._drafted = dict(self._drafted)
        return other

    def next(self) -> tuple[int | None, int]:
        """Return the token that followed the longest known context, and that context's length; None and 0 if all are
        new."""
        for context in reversed(self._here):
            before = self._drafted.get(context, self._committed.get(context))
            if before is not None:
                return before, len(context)
        return None, 0

    def take(self, token: int) -> None:
        """Add a drafted token."""
        for context in self._here:
            self._drafted[context] = token
        self._stand([*self._last[1 - LONGEST :], token])

    def _stand(self, last: list[int]) -> None:
        self._last, self._here = last, _contexts(last)


def _contexts(last: Sequence[int]) -> list[tuple[int, ...]]:
    """Contexts of one, two and three tokens, as far as there are tokens."""
    return [tuple(last[-length:]) for length in range(1, len(last) + 1)]
