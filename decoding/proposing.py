"""Proposer: proposes tokens by looking at the text alone. No model runs.

Standard library only, so that the decode loop, replay, planner and what-if drive the same object.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple


class Match(NamedTuple):
    """The context that a token was copied by."""

    length: int  # tokens of the context
    times: int  # how often this token followed it
    total: int  # how often any token did


Judges = Callable[[Match, int], float]  # estimates a copied token from its match and the number of tokens before it


class Proposer(ABC):
    """Proposes what may follow a text. One object serves one text, which only grows."""

    lookahead: int  # the most tokens that it proposes
    estimates: Sequence[float] = ()  # probability that each proposed token is accepted; empty if it estimates none

    @abstractmethod
    def follow(self, text: Sequence[int]) -> None:
        """Take in what the text has gained since the last call."""

    @abstractmethod
    def propose(self) -> Sequence[int]:
        """Return the tokens that may follow, at most `lookahead`; none if nothing in the text suggests any."""


def usable(tokens: Sequence[int], limit: int, ends: Collection[int], vocab: int = sys.maxsize) -> tuple[int, ...]:
    """Cut a proposal to the room that is left, and before an end token: the target decides itself whether to end. A
    prompt may hold ids that the models' common vocabulary lacks; nobody could judge them."""
    kept = tuple(tokens[:limit])
    for at, token in enumerate(kept):
        if token in ends or token >= vocab:
            return kept[:at]
    return kept
