"""Texts of a batch, as replay plays them round by round. Standard library only."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

from decoding.core.batch_state import BatchState
from decoding.drafting.records import RecordedText
from decoding.drafting.source import Source
from decoding.replay.player import Pass, PassClock, Playing
from decoding.trace.events import Origin


@dataclass(frozen=True)
class RoundCounts:
    drafted: int  # tokens that the target judged
    accepted: int
    passes: int  # of the draft model
    source: Origin = "none"  # of the draft, if the strategy prepares ahead


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
        self.rounds.append(RoundCounts(self.drafted, accepted, passes, source))
        self.at += min(accepted + 1, self.end - self.at)

    @property
    def room(self) -> int:
        """The most tokens that a draft may have if the text is cut. A whole text's own room is in its recording."""
        return self.end - self.at - 1 if self.end < self.request.tokens else sys.maxsize


class Sourced(TextAtLoad):
    """A text for which a source drafts."""

    def __init__(
        self, request: RecordedText, began: float, end: int, source: Source, batch: BatchState, clock: PassClock
    ):
        super().__init__(request, began, end)
        self._playing = Playing(request, source, clock, batch)

    def prepare(self) -> None:
        self._playing.begin()

    @property
    def begins_to_draft(self) -> bool:
        return super().begins_to_draft and not self._playing.source.rests

    def drafting(self) -> Iterator[Pass]:
        yield from self._playing.drafting(self.at, self.room)
        self.drafted = self._playing.size

    def accepted(self) -> int:
        return self._playing.judge()
