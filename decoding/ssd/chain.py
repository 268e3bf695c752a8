"""Tokens as they are drafted one after another, alone or as a branch among others, until something stops them."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Collection
from dataclasses import dataclass, field

from decoding.disco.echoes import Echoes
from decoding.events import StopReason


@dataclass
class Chain:
    tokens: list[int] = field(default_factory=list)
    estimates: list[float] = field(default_factory=list)  # that each is accepted once all before it are; may be empty
    owns: list[float] = field(default_factory=list)  # the draft's own probability of each; empty with the estimates
    stop: StopReason | None = None
    echoes: Echoes = field(default_factory=Echoes)  # as the text stands after it; kept where a classifier asks

    @property
    def survival(self) -> float:
        """That all of it is accepted."""
        return math.prod(self.estimates)

    @property
    def previous(self) -> float:
        """The draft's own probability of the last token, as the classifier wants it."""
        return self.owns[-1] if self.owns else 1.0

    def cut(self, room: int, asked: int) -> Chain:
        """What there is room for. Without a reason to stop where it could go on."""
        return Chain(self.tokens[:room], self.estimates[:room], self.owns[:room], self.stop_in(room, asked))

    def stop_in(self, room: int, asked: int) -> StopReason | None:
        """Why it ends where there is room for so many tokens."""
        if len(self.tokens) < room or (len(self.tokens) == room and self.stop):
            return self.stop
        return "limit" if room == asked else "length"

    def note(self, estimate: float, own: float) -> None:
        """What is thought of the next token for which nothing has been noted."""
        self.estimates.append(estimate)
        self.owns.append(own)

    def take(self, token: int, end_tokens: Collection[int], least_survival: float, room: int, asked: int) -> None:
        """One token more; then perhaps a reason to stop. It stays in the draft whatever it is."""
        self.tokens.append(token)
        if token in end_tokens:
            self.stop = "eos"
        elif self.estimates and self.survival < least_survival:
            self.stop = "rule"
        elif len(self.tokens) == room:
            self.stop = "limit" if room == asked else "length"

    def shorten(self, least_survival: float) -> None:
        """Let go of what follows the first token with which survival has fallen below that, as `take` would have."""
        survivals = itertools.accumulate(self.estimates, operator.mul)
        kept = next((n for n, chance in enumerate(survivals, start=1) if chance < least_survival), len(self.tokens))
        if kept < len(self.tokens):
            self.stop = "rule"
            del self.tokens[kept:], self.estimates[kept:], self.owns[kept:]


@dataclass
class Branch(Chain):
    """The draft that would follow one outcome."""

    accepted: int = 0
    token: int = 0  # the target's
    ahead: list[int] = field(default_factory=list)  # the accepted part, the target's token, what was drafted since
