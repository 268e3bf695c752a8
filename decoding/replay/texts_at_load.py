"""Texts of a batch, as replay plays them round by round. Standard library only."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from decoding.drafting.records import RecordedText
from decoding.trace.events import Origin


class Pass(NamedTuple):
    """A pass of the draft model, as far as one text takes part in it."""

    tokens: int  # that it drafts
    rows: int = 1  # that it reads, besides those that it has not read yet
    behind: int = 0  # tokens that it must read first
    is_level: bool = False  # of a tree


class RoundCounts(NamedTuple):
    """A round of a text."""

    drafted: int  # tokens that the target judged
    accepted: int
    passes: int  # of the draft model
    source: Origin = "none"  # of the draft, if the strategy prepares ahead
    first_rows: int = 1  # of its first pass
    path: Sequence[int] | None = None  # the accepted places of a tree; None: the draft was none


@dataclass(eq=False)
class TextAtLoad(ABC):
    """One request while it is under way."""

    request: RecordedText
    began: float  # seconds
    end: int  # tokens after which it ends
    at: int = field(default=0, init=False)
    first: float = field(default=0.0, init=False)  # seconds at which its first tokens were there
    rounds: list[RoundCounts] = field(default_factory=list, init=False)
    drafted: int = field(default=0, init=False)  # tokens of this round that the target is to judge
    first_rows: int = field(default=1, init=False)  # of the draft model's first pass in this round
    path: Sequence[int] | None = field(default=None, init=False)  # the accepted places of this round's tree

    def __post_init__(self) -> None:
        self.unread = self.request.prompt_tokens - 1

    def read(self, count: int) -> None:
        """Note that the target reads so many more tokens of the prompt."""
        self.unread -= count
        if self.unread <= 0:
            self.prepare()

    def prepare(self) -> None:  # noqa: B027
        """Begin, once the target has read the prompt."""

    @property
    def begins_to_draft(self) -> bool:
        """Whether the draft model now reads the prompt, which the target has read."""
        return self.unread <= 0

    @abstractmethod
    def drafting(self) -> Iterator[Pass]:
        """Draft, in passes of the draft model. Then `drafted` is known."""

    @abstractmethod
    def accepted(self) -> int:
        """Take the verdict, and return how many drafted tokens it accepts."""

    def settle(self, passes: int, source: Origin = "none") -> None:
        accepted = self.accepted()
        self.rounds.append(RoundCounts(self.drafted, accepted, passes, source, self.first_rows, self.path))
        self.at = min(self.end, self.at + accepted + 1)

    @property
    def room(self) -> int:
        """The most tokens that a draft may have if the text is cut. A whole text's own room is in its recording."""
        return self.end - self.at - 1 if self.end < self.request.tokens else sys.maxsize
