"""What the draft's side has ready for the next verdict, posted where the target's side looks it up by itself: a hit
that needs nothing more then needs no answer. Posted are whole numbers alone, since scores never travel this way."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple, get_args

from decoding.events import StopReason

_STOPS: tuple[StopReason, ...] = get_args(StopReason)
_FIXED = 4  # words of an entry that are no drafted tokens


class Ready(NamedTuple):
    """A draft that the target may take as it is, if this is the verdict."""

    accepted: int
    token: int
    tokens: Sequence[int]
    stop: StopReason


def written(ready: Sequence[Ready]) -> bytes:
    words = array("i")
    for accepted, token, tokens, stop in ready:
        words.extend((accepted, token, _STOPS.index(stop), len(tokens), *tokens))
    return words.tobytes()


def find(posted: bytearray, accepted: int, token: int) -> Ready | None:
    """What is ready for this verdict."""
    words = array("i", bytes(posted))
    at = 0
    while at < len(words):
        begins = at + _FIXED
        ends = begins + words[at + 3]
        if words[at] == accepted and words[at + 1] == token:
            return Ready(accepted, token, tuple(words[begins:ends]), _STOPS[words[at + 2]])
        at = ends
    return None
