"""One prompt's text, place by place: would the draft have said there what the target says, and how sure was it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from decoding.public import Policy, Record

BY_NO_MODEL = ("ngram", "random")  # backups that say nothing of the draft


@dataclass
class Places:
    """One prompt's text, and what was seen of the draft along it."""

    room: int  # the most tokens the text might have had
    has_ended: bool  # its last token is an end token
    said: list[bool | None]  # at each token: did the draft say the same; None where none was asked
    confidence: list[float]  # its own probability of what it said
    tails: dict[int, Sequence[float]] = field(default_factory=dict)  # how sure it was after a token that was refused
    ends: set[int] = field(default_factory=set)  # refused tokens after which it came to an end of its own

    @classmethod
    def of(cls, length: int, room: int, has_ended: bool) -> Places:
        return cls(room, has_ended, [None] * length, [1.0] * length)

    def head(self, length: int) -> Places:
        """As if there had been room for no more than that."""
        if length >= len(self.said):
            return self
        said, confidence = self.said[:length], self.confidence[:length]
        return replace(self, room=length, has_ended=False, said=said, confidence=confidence)

    @property
    def draftable(self) -> list[bool | None]:
        """The last token of a full text is the target's: there is no room for a draft and it."""
        return self.said[: self.room - 1]

    def learn(self, events: Iterable[Mapping[str, Any]]) -> None:
        start, draft = 0, None
        for event in events:
            if event["event"] == "drafted":
                draft = event
            elif event["event"] == "verified":
                if draft is not None and draft.get("backup") not in BY_NO_MODEL:
                    self._learn(start, draft["confidence"], event["accepted"], draft["stop"] == "eos")
                start, draft = start + event["accepted"] + 1, None

    def _learn(self, start: int, confidence: Sequence[float], accepted: int, ended: bool) -> None:
        for at, value in zip(range(start, len(self.said)), confidence[: accepted + 1], strict=False):
            self.said[at], self.confidence[at] = at < start + accepted, value
        tail, miss = confidence[accepted + 1 :], start + accepted
        if accepted < len(confidence) and len(tail) >= len(self.tails.get(miss, ())):
            self.tails[miss] = tail
            if ended:
                self.ends.add(miss)

    def record(self, hopes: bool) -> Record:
        """`hopes`: whether a token that nobody drafted would have been accepted."""
        matches = [hopes if said is None else said for said in self.said]
        tails = {miss: len(self.tails[miss]) for miss in self.ends}
        return Record.of(matches, self.room, tails, self.has_ended)


@dataclass
class UntilUnsure(Policy):
    """Drafts until a token that the draft held less likely than the threshold. Past what was drafted it is taken to
    stop at once, or never: whichever is wanted."""

    places: Places
    record: Record
    threshold: float
    cap: int
    hopes: bool

    def length(self, start: int) -> int:
        miss = start + self.record.runs[start]
        seen = [*self.places.confidence[start : miss + 1], *self.places.tails.get(miss, ())][: self.cap]
        for drafted, confidence in enumerate(seen, 1):
            if confidence < self.threshold:
                return drafted
        return max(1, len(seen)) if self.hopes else self.cap
