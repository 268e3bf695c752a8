"""Player: any source on texts that were recorded once, for any number of users. Standard library only.

No model runs. The rounds are those of `decoding.core.loop.Batch`: joint draft steps for all that still draft, then one
joint verification, in which a piece of each unread prompt takes part. One user is a batch of one. Under greedy or
shared dice what is drafted and accepted equals a live run; the seconds are as good as the measured costs, which move
the clock that sources read.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from types import MappingProxyType
from typing import NamedTuple

from decoding.core.batch_state import BatchState
from decoding.drafting.records import Record, RecordedText, Written
from decoding.drafting.source import (
    STEP,
    Ask,
    Asking,
    Block,
    Copy,
    Foresee,
    Judgement,
    Sight,
    Source,
    Step,
    View,
    next_of,
)
from decoding.drafting.tree_shapes import TreeShape
from decoding.errors import BadStrategy
from decoding.prices.cost_model import CostModel, Counts
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
    origin: Origin = "none"  # of the draft, if the strategy prepares ahead
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

    def settle(self, passes: int, origin: Origin = "none") -> None:
        accepted = self.accepted()
        self.rounds.append(RoundCounts(self.drafted, accepted, passes, origin, self.first_rows, self.path))
        self.at = min(self.end, self.at + accepted + 1)

    @property
    def room(self) -> int:
        """The most tokens that a draft may have if the text is cut. A whole text's own room is in its recording."""
        return self.end - self.at - 1 if self.end < self.request.tokens else sys.maxsize


@dataclass
class PassClock:
    """Time that the passes take."""

    seconds: float = 0.0

    def now(self) -> int:
        return round(self.seconds * 1e9)


class RecordedView(View):
    """A recorded text up to the position that is played."""

    def __init__(self, recorded: RecordedText, clock: PassClock) -> None:
        written = recorded.written
        super().__init__(list(written.prompt) if written else (), ends=written.ends if written else (), now=clock.now)
        self._recorded, self._at = recorded, 0
        kept = written or recorded.ranked
        self._end = kept.room - 1 if kept else sys.maxsize

    def go_to(self, at: int, room: int) -> None:
        if self._recorded.written:
            self.text += self._recorded.written.text[self._at : at]  # type: ignore[operator]
        self._at, self.room = at, min(room, self._end - at)

    def words(self) -> str:
        return self._recorded.seen.words(self._at)


class Playing(TextAtLoad):
    """A text for which a source drafts.

    What the draft model would add to a copy that the target refuses is not recorded. Its length is taken from the same
    position of the text.
    """

    def __init__(
        self, request: RecordedText, source: Source, clock: PassClock, batch: BatchState, end: int | None = None
    ) -> None:
        super().__init__(request, clock.seconds, request.tokens if end is None else end)
        self.source = source
        source.batch = batch
        self._clock = clock
        self._view = RecordedView(request, clock)
        self._behind = 1  # committed tokens that the draft model has not read

    def prepare(self) -> None:
        self.source.follow(self._view.text)

    @property
    def begins_to_draft(self) -> bool:
        return super().begins_to_draft and not self.source.rests

    def drafting(self) -> Iterator[Pass]:
        self._view.go_to(self.at, self.room)
        self._began = self._clock.now()
        self.copied = self.passes = self.made = self.agreed = self._run = 0
        self.tree: TreeShape | None = None
        asking = self.source.propose(self._view)
        ask = next_of(asking)
        if isinstance(ask, Foresee):
            ask = next_of(asking, (self._foreseen(), self._written.agreeing(self.at, ask.copy)))
        if isinstance(ask, Copy):
            tokens = self._view.usable(ask.tokens)
            self.copied, self.agreed = len(tokens), self._written.agreeing(self.at, tokens)
            ask = next_of(asking)
        if isinstance(ask, Block):
            raise BadStrategy("A source of blocks cannot be replayed: recordings hold a draft token by token.")
        self.first_rows = self._behind + self.copied
        if isinstance(ask, Step) and ask.parents:
            yield from self._grow(asking, ask)
        elif isinstance(ask, Step):
            yield from self._go_on(asking)
        kept = self.made if self.tree or not self.made else min(self.made, self.source.keeps(self.made))
        self.drafted = self.copied + kept
        self._ready = self._clock.now()

    def pass_s(self, one: Pass, costs: CostModel, texts: int) -> float:
        """Seconds of a pass of so many texts that this one shares with no other: of a look at each token, or of its
        place in a tree, and of what the model reads late."""
        each = costs.in_tree if one.is_level else costs.look(self.source.sees)
        return each * one.tokens + (costs.late_row(texts) * (one.behind - 1) if one.behind > 1 else 0.0)

    def round_s(self, costs: CostModel) -> float:
        """Seconds of a round that this text shares with no other: of growing a tree, or of weighing a copy."""
        return costs.tree * bool(self.tree) + costs.mixing * self.source.weighs

    def accepted(self) -> int:
        accepted, path = self._verdict()
        self.path = path if self.tree else None
        took, drafting = self._clock.now() - self._ready, self._ready - self._began
        judged = Judgement(self.drafted, accepted, self.copied, self.passes, took, drafting, self._ranks(path))
        self.source.judged(judged)
        is_unread = self.tree.ends(path) if self.tree else accepted == self.copied + self.passes
        self._behind = 1 + is_unread if self.passes else self._behind + accepted + 1
        return accepted

    def _verdict(self) -> tuple[int, Sequence[int]]:
        if self.tree:
            path = self.tree.path(self._stood[: self.tree.depth])
            return len(path), path
        if self.agreed < self.copied:
            return self.agreed, ()
        return min(self.copied + self._run, self.drafted), ()

    @property
    def _stood(self) -> Sequence[int]:
        """Ranks of the text's tokens from here on."""
        assert self.request.ranked, "a tree needs the ranks of the text's tokens"
        return self.request.ranked.ranks[self.at :]

    @property
    def _written(self) -> Written:
        assert self.request.written, "a copy needs the text's tokens"
        return self.request.written

    def _ranks(self, path: Sequence[int]) -> Sequence[int]:
        if not self.tree or not self._listed:
            return ()
        followed = sum(1 for place in (-1, *path) if self.tree.children[place + 1])
        return [min(rank, self._listed) for rank in self._stood[:followed]]

    def _foreseen(self) -> int:
        """Count the tokens that the draft model would draft and the target accept."""
        record = self.request.record
        return min(record.runs[self.at], record.limits[self.at], self._view.room, self.source.lookahead)

    def _go_on(self, asking: Asking) -> Iterator[Pass]:
        """Let the draft model draft token after token. Where the recording shows a source nothing more, it goes on."""
        source, seen, record = self.source, self.request.seen, self.request.record
        place = min(self.at + self.copied, len(record) - 1)
        self._run = record.runs[place] if self.copied == self.agreed else 0
        most = min(record.limits[place], self._view.room - self.copied)
        row = self._shown(place)
        if source.sees != "nothing" and not seen.is_whole:
            most = min(most, max(1, len(row)))
        ask: Ask | str = STEP
        while self.made < most and not isinstance(ask, str):
            if not record.is_copied:
                yield Pass(1, 1, 0 if self.made else self.first_rows - 1)
                self.passes += 1
            self.made += 1
            if source.sees == "nothing":
                ask = next_of(asking)
            elif self.made <= len(row):
                ask = next_of(asking, row[self.made - 1])
            elif self.copied + self.made >= source.lookahead:
                return

    def _shown(self, place: int) -> Sequence[float]:
        """Return what the source sees of each token that is drafted from a place."""
        match self.source.sees:
            case "nothing":
                return ()
            case "fate":
                return [*[1.0] * min(self._run, self.source.lookahead), 0.0]
            case _:
                return self.request.seen.row(self.source.sees, place)

    def _grow(self, asking: Asking, step: Step) -> Iterator[Pass]:
        """Let the draft model draft a tree, level by level."""
        assert not step.paths, "no recording tells the trees of likeliest paths"
        self._listed = step.listed
        room = min(self.source.lookahead, self._view.room)
        for rows, tokens in self._shaped(asking, step, room):
            yield Pass(tokens, rows, 0 if self.passes else self.first_rows - 1, is_level=True)
            self.passes += 1
            self.made += tokens

    def _shaped(self, asking: Asking, step: Ask | str, room: int) -> Iterator[tuple[int, int]]:
        """Yield rows and tokens of each level of a tree whose shape the source knows."""
        parents: list[int] = []
        depth = 0
        while isinstance(step, Step) and depth < room:
            parents += step.parents
            depth += 1
            yield len(set(step.parents)), len(step.parents)
            step = next_of(asking)
        self.tree = shape_of(tuple(parents))


@lru_cache(1024)
def shape_of(parents: tuple[int, ...]) -> TreeShape:
    """Return the shape with these parents. A strategy's rounds have few shapes."""
    return TreeShape(parents, ())


class Player:
    """Rounds of texts that are decoded together. Without costs they take no time."""

    def __init__(
        self, costs: CostModel | None = None, sees: Sight = "nothing", *, drafts: bool = True, catches_up: bool = False
    ) -> None:
        """`sees` is what sources look at. `drafts` says whether a draft model reads the prompts, `catches_up` whether
        a pass that must first read more rows than one costs what the fit says of one text."""
        self.clock, self._drafts, self._catches_up = PassClock(), drafts, catches_up
        self._costs, self._batch = costs, BatchState(costs and costs.with_looks(costs.look(sees)))

    def begin(self, request: RecordedText, source: Source, end: int | None = None) -> Playing:
        """Make a text of so many tokens."""
        return Playing(request, source, self.clock, self._batch, end)

    def single(self, request: RecordedText, source: Source) -> Sequence[RoundCounts]:
        """Play a text whose prompt was read to its end, for one user."""
        text = self.begin(request, source)
        text.read(text.unread)
        while text.at < text.end:
            self.round([text])
        return text.rounds

    def round(self, texts: Sequence[Playing], pieces: Mapping[Playing, int] = MappingProxyType({})) -> None:
        """Play one round. `pieces` are the tokens that it reads of the prompts of other texts."""
        self._batch.begin(len(texts))
        for number, joint in enumerate(zip_longest(*[text.drafting() for text in texts])):
            if self._costs:
                drafting = [(text, one) for text, one in zip(texts, joint, strict=True) if one]
                self._step(drafting, self._costs, len(texts), is_first=not number)
        if self._costs:
            self._verify(texts, pieces, self._costs)
        else:
            for text in texts:
                text.settle(text.passes)
        for text, count in pieces.items():
            text.read(count)
            if self._costs and self._drafts and text.begins_to_draft:
                self.clock.seconds += self._costs.read(text.request.prompt_tokens)

    def _step(self, drafting: Sequence[tuple[Playing, Pass]], costs: CostModel, texts: int, *, is_first: bool) -> None:
        """Take the time of a joint step, among so many texts. All that draft take part in the first one."""
        count, rows = len(drafting), sum(one.rows for _, one in drafting)
        if is_first:
            self.clock.seconds += costs.beginning(count)
        self.clock.seconds += costs.draft(count, rows if rows > count else None)
        for text, one in drafting:
            self.clock.seconds += text.pass_s(one, costs, texts) + (
                costs.catch_up if one.behind and self._catches_up else 0.0
            )

    def _verify(self, texts: Sequence[Playing], pieces: Mapping[Playing, int], costs: CostModel) -> None:
        """Take the time of the joint verification, and of what follows it in a round."""
        rows = sum(text.drafted + 1 for text in texts)
        self.clock.seconds += costs.passing(len(texts), rows, len(pieces), sum(pieces.values()))
        for text in texts:
            before = text.at
            text.settle(text.passes)
            self.clock.seconds += costs.chances(text.request.prompt_tokens, before, text.at)
        self.clock.seconds += costs.fixed(max(1, len(texts))) + sum(text.round_s(costs) for text in texts)
        for text in texts:
            text.first = text.first or self.clock.seconds
        if texts:
            self._batch.note_round([text.passes for text in texts])


def play_each(
    texts: Iterable[RecordedText], source: Callable[[], Source], costs: CostModel | None = None
) -> Iterator[tuple[Counts, Sequence[RoundCounts]]]:
    """Play texts for one user, one after the other. Yield each one's passes and rounds. `source` makes what drafts for
    one text; what its texts share is its own matter. One that weighs copies by times needs costs."""
    weighs, player = (usual := source()).weighs, Player()
    if weighs:
        assert costs, "it decides by times"
        player = Player(costs, usual.sees, catches_up=True)
    for text in texts:
        counts, rounds = Counts(tokens=text.tokens), player.single(text, source())
        for one in rounds:
            counts.note(
                one.drafted, one.accepted, one.passes, one.first_rows, is_tree=one.path is not None, is_mixed=weighs
            )
        yield counts, rounds


def replay(texts: Iterable[RecordedText], source: Callable[[], Source], costs: CostModel | None = None) -> Counts:
    """Count every pass of texts that are played for one user."""
    total = Counts()
    for counts, _ in play_each(texts, source, costs):
        total.add(counts)
    return total


def copied_record(text: RecordedText, source: Source) -> Record:
    """Look at every position of a text for which a source copies, for studies that need them all."""
    playing, found = Player().begin(text, source), list[tuple[int, int]]()
    for at in range(text.tokens):
        playing.at = at
        for _ in playing.drafting():
            raise ValueError("a source that copies lets no model draft")
        found.append((playing.agreed, playing.copied))
    runs, limits = zip(*found, strict=True)
    return Record(runs, limits, is_copied=True)
