"""Texts of a batch, as replay plays them round by round: chains and trees of a draft model, copies, and mixes of both.

Each drives the object that the engine drives. Standard library only.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from decoding.crowd import Crowd
from decoding.events import Source
from decoding.mixing import Mix
from decoding.proposing import Proposer
from decoding.replay.mixed import Clock, Playing
from decoding.replay.mixed import Text as MixedText
from decoding.replay.records import NOTHING_SEEN, Draft, Proposed, Record, Seen, draft_length, row_of
from decoding.strategy import Policy
from decoding.tree_shapes import Ranked, TreePolicy

Drafting = Policy | TreePolicy | Proposer | Mix  # what drafts for one text


@dataclass(frozen=True)
class Recorded:
    """One request: its text as the draft sees it, and what a policy may see of it."""

    record: Record
    prompt_tokens: int
    seen: Seen = NOTHING_SEEN
    ranked: Ranked | None = None  # the text as trees see it
    proposed: Callable[[Proposer], Proposed] | None = None  # the text as a proposer sees it

    @property
    def tokens(self) -> int:
        return len(self.record.runs)

    def proposed_by(self, proposer: Proposer) -> Proposed:
        assert self.proposed, "a copy needs the text's tokens"
        return self.proposed(proposer)


class Pass(NamedTuple):
    """A pass of the draft model, as far as one text takes part in it."""

    tokens: int  # that it drafts
    late: int = 0  # tokens that it must read first, beyond the one that follows a draft that was accepted whole


@dataclass(frozen=True)
class Round:
    drafted: int  # tokens that the target judged
    accepted: int
    passes: int  # of the draft model
    source: Source = "none"  # of the draft, if the strategy prepares ahead


@dataclass(eq=False)
class Text(ABC):
    """One request while it is under way."""

    request: Recorded
    began: float  # seconds
    end: int  # tokens after which it ends
    at: int = field(default=0, init=False)
    first: float = field(default=0.0, init=False)  # seconds at which its first tokens were there
    rounds: list[Round] = field(default_factory=list, init=False)
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

    def settle(self, passes: int, source: Source = "none") -> None:
        accepted = self.accepted()
        self.rounds.append(Round(self.drafted, accepted, passes, source))
        self.at += min(accepted + 1, self.end - self.at)

    @property
    def room(self) -> int:
        """The most tokens that a draft may have if the text is cut. A whole text's own room is in its recording."""
        return self.end - self.at - 1 if self.end < self.request.tokens else sys.maxsize


@dataclass(eq=False)
class Chain(Text):
    policy: Policy
    crowd: Crowd

    def __post_init__(self) -> None:
        super().__post_init__()
        self.policy.crowd = self.crowd

    @property
    def begins_to_draft(self) -> bool:
        return super().begins_to_draft and not self.policy.rests

    def drafting(self) -> Iterator[Pass]:
        self.policy.begin(lambda: self.request.seen.words(self.at))
        record = self.request.record
        self._row = row_of(record.runs[self.at], self.policy, self.request.seen, self.at)
        room = min(record.limits[self.at], self.room)
        passes = draft_length(self.policy, self._row, room, self.request.seen.is_whole)
        self.drafted = min(passes, self.policy.keeps(passes))
        yield from [Pass(1)] * passes

    def accepted(self) -> int:
        accepted = min(self.drafted, self.request.record.runs[self.at])
        confidence = self._row[: self.drafted] if self.policy.sees == "confidence" else ()
        self.policy.judged(Draft(range(self.drafted), confidence), accepted)
        return accepted


@dataclass(eq=False)
class Tree(Text):
    policy: TreePolicy

    def drafting(self) -> Iterator[Pass]:
        self._played = self._ranked.draft(self.policy, self.at, self.room)
        self.drafted = len(self._played.shape)
        yield from map(Pass, self._played.drafted)

    def accepted(self) -> int:
        self._ranked.judge(self.policy, self.at, self._played)
        return len(self._played.path)

    @property
    def _ranked(self) -> Ranked:
        assert self.request.ranked, "a tree needs the ranks of the text's tokens"
        return self.request.ranked


@dataclass(eq=False)
class Copy(Text):
    proposer: Proposer

    def __post_init__(self) -> None:
        super().__post_init__()
        self._proposed = self.request.proposed_by(self.proposer)

    def prepare(self) -> None:
        self.proposer.follow(self._proposed.prompt)

    def drafting(self) -> Iterator[Pass]:
        self._agreed, found = self._proposed.at(self.at)
        self.drafted = min(found, self.room)
        return iter(())

    def accepted(self) -> int:
        return min(self._agreed, self.drafted)


@dataclass(eq=False)
class Mixed(Text):
    mix: Mix
    clock: Clock

    def __post_init__(self) -> None:
        super().__post_init__()
        request = self.request
        text = MixedText(request.proposed_by, request.record, request.seen)
        self._playing = Playing(text, request.proposed_by(self.mix.proposer), self.mix.policy, self.clock)

    def prepare(self) -> None:
        self.mix.proposer.follow(self._playing.proposed.prompt)

    def drafting(self) -> Iterator[Pass]:
        for rows in self._playing.drafting(self.at, self.room):
            yield Pass(1, max(0, rows - 2))
        self.drafted = self._playing.copied + self._playing.drafted

    def accepted(self) -> int:
        return self._playing.verified().accepted


def text_of(request: Recorded, end: int, drafting: Drafting, crowd: Crowd, clock: Clock) -> Text:
    match drafting:
        case TreePolicy():
            return Tree(request, clock.seconds, end, drafting)
        case Proposer():
            return Copy(request, clock.seconds, end, drafting)
        case Mix():
            return Mixed(request, clock.seconds, end, drafting, clock)
        case _:
            return Chain(request, clock.seconds, end, drafting, crowd)
