"""Positions of one prompt's text: would the draft propose the target's token there, and with what probability?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from decoding.drafting.records import Ranked, Record, RecordedText, Seen, Written
from decoding.drafting.source import WORDS
from decoding.drafting.tree_shapes import RANKS
from decoding.trace.events import Anticipated, Drafted, Event, Verified

MOST_BRANCHES = 32  # most that a setting may ask for
_ELSE = tuple(range(-10, -10 - RANKS - MOST_BRANCHES - 2, -1))  # tokens that differ from all of the target's


def _is_by_the_model(draft: Mapping[str, Any]) -> bool:
    return draft.get("backup") in (None, "", "neural") and draft.get("source") != "copied"


@dataclass
class TracedText:
    """One prompt's text, and what the runs showed of the draft along it."""

    room: int  # most tokens that the text could have had
    has_ended: bool  # the last token is an end token
    said: list[bool | None]  # per token: whether the draft proposed it; None if nobody drafted there
    confidence: list[float]  # the draft's probability of its own token
    refused: dict[int, int] = field(default_factory=dict)  # position -> the draft model's token, if it is another
    stood: dict[int, int] = field(default_factory=dict)  # position -> rank of the token on the draft's list
    beyond: dict[int, int] = field(default_factory=dict)  # position -> the least rank that it can have, if that is all
    tails: dict[int, Sequence[float]] = field(default_factory=dict)  # position of a refusal -> confidence after it
    prompt: str = ""  # the end of the prompt
    tokens: Sequence[int] = ()  # of the text
    prompt_tokens: Sequence[int] = ()  # none in traces of earlier versions
    prompt_length: int = 1  # tokens
    pieces: Sequence[str] = ()  # the text's tokens as words, if known
    ends: set[int] = field(default_factory=set)  # positions of refused tokens after which the draft ended the text

    @classmethod
    def of(cls, length: int, room: int, has_ended: bool, prompt: str = "", tokens: Sequence[int] = ()) -> TracedText:
        return cls(room, has_ended, [None] * length, [1.0] * length, prompt=prompt, tokens=tokens)

    @property
    def is_drafted(self) -> bool:
        """Whether the draft model drafted along this text."""
        return any(said is not None for said in self.said)

    def head(self, length: int) -> TracedText:
        """Cut the text to this length, as if there had been no more room."""
        if length >= len(self.said):
            return self
        said, confidence, tokens = self.said[:length], self.confidence[:length], self.tokens[:length]
        return replace(self, room=length, has_ended=False, said=said, confidence=confidence, tokens=tokens)

    @property
    def draftable(self) -> list[bool | None]:
        """Positions that a draft can reach. The last token of a full text has no room for a draft."""
        return self.said[: self.room - 1]

    def learn(self, events: Iterable[Mapping[str, Any]]) -> None:
        start, draft = 0, None
        for event in events:
            if event["event"] == "drafted":
                draft = event
            elif event["event"] == "started":
                self.prompt_length = event["prompt_tokens"]
            elif event["event"] == "prompted":
                self.prompt_tokens = event["prompt"]
            elif event["event"] == "verified":
                if draft is not None and _is_by_the_model(draft):
                    chain = [0] * event["accepted"] + [int(event["accepted"] < len(draft["tokens"]))]
                    self._learn_ranks(start, draft.get("ranks") or chain)
                    self._learn(start, draft, event["accepted"])
                start, draft = start + event["accepted"] + 1, None

    def _learn(self, start: int, draft: Mapping[str, Any], accepted: int) -> None:
        confidence: Sequence[float] = draft["confidence"]
        for at, value in zip(range(start, len(self.said)), confidence[: accepted + 1], strict=False):
            self.said[at], self.confidence[at] = at < start + accepted, value
        tail, miss = confidence[accepted + 1 :], start + accepted
        if accepted < len(confidence):
            self.refused[miss] = draft["tokens"][accepted]
        if accepted < len(confidence) and len(tail) >= len(self.tails.get(miss, ())):
            self.tails[miss] = tail
            if draft["stop"] == "eos":
                self.ends.add(miss)

    def _learn_ranks(self, start: int, ranks: Sequence[int]) -> None:
        """Learn from a tree, or from a chain, whose places have one alternative each."""
        *stood, tried = ranks
        self.stood.update(enumerate(stood, start))
        self._learn_beyond(start + len(stood), tried)

    def _learn_beyond(self, at: int, tried: int) -> None:
        self.beyond[at] = max(tried, self.beyond.get(at, 0))

    def learn_branches(self, events: Iterable[Event]) -> None:
        """Learn from what an SSD run prepared for: after each count, branches hold the draft's best tokens."""
        drafts, verdicts, at = dict[int, Drafted](), dict[int, tuple[int, Verified]](), 0
        for event in events:
            if isinstance(event, Drafted):
                drafts[event.round] = event
            elif isinstance(event, Verified):
                verdicts[event.round] = at + event.accepted, event
                at += event.accepted + 1
            elif isinstance(event, Anticipated) and event.round in verdicts and event.round in drafts:
                draft, (place, verdict) = drafts[event.round], verdicts[event.round]
                listed = [token for count, token, _ in event.branches if count == verdict.accepted]
                refused = int(draft.backup in ("", "neural") and verdict.accepted < len(draft.tokens))
                if verdict.token in listed:
                    self.stood.setdefault(place, refused + listed.index(verdict.token))
                else:
                    self._learn_beyond(place, refused + len(listed))

    def ahead(self, hopes: bool) -> RecordedText:
        """Return the text as it is for drafts that are prepared ahead: with what the draft preferred at each place."""
        said = (hopes if known is None else known for known in self.said)
        every = enumerate(zip(self.tokens, said, strict=True))
        preferred = [
            (token, *_ELSE) if is_right else self._preferred(place, token, hopes) for place, (token, is_right) in every
        ]
        return replace(self.text(hopes), preferred=preferred)

    def _preferred(self, place: int, token: int, hopes: bool) -> tuple[int, ...]:
        """List what the draft prefers where its favourite is not the target's token."""
        rank = max(1, self.stood.get(place, self.beyond.get(place, 0)))
        before = (self.refused.get(place, _ELSE[0]), *_ELSE[1:rank])
        return (*before, *([token] if place in self.stood or hopes else []), *_ELSE[rank:])

    def text(self, hopes: bool) -> RecordedText:
        """Return the text as sources see it. `hopes`: assume that tokens that nobody drafted would have been accepted,
        and go on there; otherwise the source stops at the first."""
        record = self._record(hopes)
        seen = self._seen(record, hopes)
        return RecordedText(record, self.prompt_length, seen, self._ranked(hopes), self._written)

    def _ranked(self, hopes: bool) -> Ranked:
        """The text as trees see it. `hopes`: assume the best rank that a token can have, else that no tree has it."""
        return Ranked(
            [self.stood.get(at, self.beyond.get(at, 0) if hopes else RANKS) for at in range(len(self.said))], self.room
        )

    @property
    def _written(self) -> Written:
        """The tokens, for sources that copy. Of several end tokens, only the one that ended this text is known."""
        ends = self.tokens[-1:] if self.has_ended else ()
        return Written(self.prompt_tokens, self.tokens, self.room, ends)

    def _record(self, hopes: bool) -> Record:
        matches = [hopes if said is None else said for said in self.said]
        tails = {miss: len(self.tails[miss]) for miss in self.ends}
        return Record.of(matches, self.room, tails, self.has_ended)

    def _words(self, place: int) -> str:
        """Last words before a position."""
        return self.prompt * (place < WORDS) + "".join(self.pieces[max(0, place - WORDS) : place])

    def _seen(self, record: Record, hopes: bool) -> Seen:
        """Return what a source may see of the text. Confidence stands for leads and for a classifier's estimates, which
        traces do not hold at each position."""

        def row(sees: str, start: int) -> Sequence[float]:
            miss = start + record.runs[start]
            return [*self.confidence[start : miss + 1], *self.tails.get(miss, ())]

        return Seen(row, self._words, is_whole=not hopes)
