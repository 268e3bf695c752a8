"""Where a text has been before. A large model takes more from its context than a small one, so what followed the same
tokens earlier in the text tells much about whether the target will agree with the draft. Standard library only."""

from __future__ import annotations

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

    def follow(self, text: Sequence[int]) -> None:
        """A round begins after `text`, which is what it was, or longer."""
        for end in range(self._read, len(text)):
            _note(self._committed, text[max(0, end - LONGEST) : end], text[end])
        self._read, self._last = len(text), list(text[-LONGEST:])
        self._drafted.clear()

    def of(self, token: int) -> list[float]:
        """By length of the context: 1 if this token came next then, -1 if another did, 0 if nothing is known."""
        echoes = [0.0] * LONGEST
        for length in range(1, len(self._last) + 1):
            context = tuple(self._last[-length:])
            before = self._drafted.get(context, self._committed.get(context))
            if before is not None:
                echoes[length - 1] = 1.0 if before == token else -1.0
        return echoes

    def take(self, token: int) -> None:
        """The draft goes on with this token."""
        _note(self._drafted, self._last, token)
        self._last = [*self._last[1 - LONGEST :], token]


def _note(followers: Followers, context: Sequence[int], token: int) -> None:
    for length in range(1, len(context) + 1):
        followers[tuple(context[-length:])] = token
