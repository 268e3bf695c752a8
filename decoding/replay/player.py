"""Replay: any source on texts that were recorded once, counted exactly. Standard library only.

No model runs; a cost model turns the counts into seconds. Under greedy or shared dice the counts equal those of a
live run; the seconds are as good as the measured costs. A source that weighs copies by times reads a clock, which
goes on by the measured costs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple

from decoding.core.batch_state import BatchState
from decoding.drafting.records import Record, RecordedText
from decoding.drafting.source import STEP, Ask, Asking, Block, Copy, Foresee, Judgement, Source, Step, View, next_of
from decoding.drafting.tree_shapes import TreeShape
from decoding.prices.cost_model import CostModel
from decoding.prices.counts import Counts


@dataclass
class PassClock:
    """Time that the passes take."""

    seconds: float = 0.0

    def now(self) -> int:
        return round(self.seconds * 1e9)


class Pass(NamedTuple):
    """A pass of the draft model, as far as one text takes part in it."""

    tokens: int  # that it drafts
    rows: int = 1  # that it reads, besides those that it has not read yet
    late: int = 0  # tokens that it must read first, beyond the one that follows a draft that was accepted whole


@dataclass
class RecordedDraft:
    """Draft of a round, as a source sees it."""

    tokens: Sequence[int]
    confidence: Sequence[float] = ()


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


class Playing:
    """One text, round by round: `drafting`, then `judge`. Whoever drives it lets the clock go on by each pass.

    What the draft model would add to a copy that the target refuses is not recorded. Its length is taken from the same
    position of the text.
    """

    def __init__(self, recorded: RecordedText, source: Source, clock: PassClock, batch: BatchState) -> None:
        assert recorded.written or not source.copies, "a copy needs the text's tokens"
        self.recorded, self.source = recorded, source
        source.batch = batch
        self._clock = clock
        self._view = RecordedView(recorded, clock)
        self.late = 1  # committed tokens that the draft model has not read

    def begin(self) -> None:
        """Let the source read the prompt."""
        self.source.follow(self._view.text)

    def drafting(self, at: int, room: int = sys.maxsize) -> Iterator[Pass]:
        """Draft from this position, in passes of the draft model. The text may be cut after so many tokens more."""
        self._view.go_to(at, room)
        self._at, self._began = at, self._clock.now()
        self.copied = self.passes = self.drafted = self.agreed = self._run = 0
        self.row: Sequence[float] = ()
        self.tree: TreeShape | None = None
        asking = self.source.propose(self._view)
        ask = next_of(asking)
        if isinstance(ask, Foresee):
            ask = next_of(asking, (self.recorded.record.runs[at], self._agreeing(ask.copy)))
        if isinstance(ask, Copy):
            self.copied, self.agreed = len(ask.tokens), self._agreeing(ask.tokens)
            ask = next_of(asking)
        assert not isinstance(ask, Block), "recordings hold what a draft says token by token"
        self.first_rows = self.late + self.copied
        if isinstance(ask, Step) and ask.parents:
            yield from self._grow(asking, ask)
        elif isinstance(ask, Step):
            yield from self._go_on(asking)
        if not self.tree:
            self.drafted = min(self.drafted, self.source.keeps(self.drafted))
        self._ready = self._clock.now()

    @property
    def late_rows(self) -> int:
        """Rows of the first pass beyond two, where another source had added tokens."""
        return max(0, self.first_rows - 2) if self.source.copies else 0

    @property
    def size(self) -> int:
        """Tokens of this round's draft."""
        return self.copied + self.drafted

    def judge(self) -> int:
        """Take the verdict, which comes now. Return how many tokens it accepts."""
        accepted, path = self._verdict()
        self.path = path
        draft = RecordedDraft(range(self.size), self.row[: self.drafted] if self.source.sees == "confidence" else ())
        took, drafting = self._clock.now() - self._ready, self._ready - self._began
        judged = Judgement(draft, accepted, self.copied, self.passes, took, drafting, self._ranks(path))
        self.source.judged(judged)
        is_unread = self.tree.ends(path) if self.tree else accepted == self.copied + self.passes
        self.late = 1 + is_unread if self.passes else self.late + accepted + 1
        return accepted

    def _verdict(self) -> tuple[int, Sequence[int]]:
        if self.tree:
            path = self.tree.path(self._stood[: self.tree.depth])
            return len(path), path
        if self.agreed < self.copied:
            return self.agreed, ()
        return self.copied + min(self._run, self.drafted), ()

    @property
    def _stood(self) -> Sequence[int]:
        """Ranks of the text's tokens from here on."""
        assert self.recorded.ranked, "a tree needs the ranks of the text's tokens"
        return self.recorded.ranked.ranks[self._at :]

    def _ranks(self, path: Sequence[int]) -> Sequence[int]:
        if not self.tree or not self._listed:
            return ()
        followed = sum(1 for place in (-1, *path) if self.tree.children[place + 1])
        return [min(rank, self._listed) for rank in self._stood[:followed]]

    def _agreeing(self, tokens: Sequence[int]) -> int:
        """Count the tokens of a copy that the text has too."""
        assert self.recorded.written
        pairs = zip(tokens, self.recorded.written.text[self._at : self._at + len(tokens)], strict=False)
        return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))

    def _go_on(self, asking: Asking) -> Iterator[Pass]:
        """Let the draft model draft token after token. Where the recording shows a source nothing more, it goes on."""
        source, seen, record = self.source, self.recorded.seen, self.recorded.record
        place = min(self._at + self.copied, len(record) - 1)
        self._run = record.runs[place] if self.copied == self.agreed else 0
        most = min(record.limits[place], self._view.room - self.copied)
        self.row = row = self._shown(place)
        if source.sees != "nothing" and not seen.is_whole:
            most = min(most, max(1, len(row)))
        ask: Ask | str = STEP
        while self.drafted < most and not isinstance(ask, str):
            yield Pass(1, 1, 0 if self.drafted else self.late_rows)
            self.drafted += 1
            self.passes += not record.is_copied
            if source.sees == "nothing":
                ask = next_of(asking)
            elif self.drafted <= len(row):
                ask = next_of(asking, row[self.drafted - 1])
            elif self.size >= source.lookahead:
                return

    def _shown(self, place: int) -> Sequence[float]:
        """Return what the source sees of each token that is drafted from a place."""
        match self.source.sees:
            case "nothing":
                return ()
            case "fate":
                return [*[1.0] * min(self._run, self.source.lookahead), 0.0]
            case _:
                return self.recorded.seen.row(place)

    def _grow(self, asking: Asking, step: Step) -> Iterator[Pass]:
        """Let the draft model draft a tree, level by level."""
        self._listed = 0 if step.paths else step.listed
        room = min(self.source.lookahead, self._view.room)
        levels = self._likeliest(asking, step, room) if step.paths else self._shaped(asking, step, room)
        for rows, tokens in levels:
            self.passes += 1
            self.drafted += tokens
            yield Pass(tokens, rows)

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

    def _likeliest(self, asking: Asking, step: Ask | str, room: int) -> Iterator[tuple[int, int]]:
        """The same of a tree that the draft's probabilities shape, as it was recorded."""
        assert self.recorded.ranked and isinstance(step, Step), "a tree needs what was grown along the text"
        self.tree = tree = self.recorded.ranked.grown[step.paths][self._at].within(room)
        read = tree.rows or [sum(1 for place in level if tree.children[place + 1]) for level in tree.levels]
        for rows, level in zip((1, *read), tree.levels, strict=False):
            yield rows, len(level)
            next_of(asking, level)


@lru_cache(1024)
def shape_of(parents: tuple[int, ...]) -> TreeShape:
    """Return the shape with these parents. A strategy's rounds have few shapes."""
    return TreeShape(parents, ())


def replay(texts: Iterable[RecordedText], source: Callable[[], Source], costs: CostModel | None = None) -> Counts:
    """Count every pass. `source` makes what drafts for one text; what its texts share is its own matter. One that
    weighs copies by times needs costs."""
    total, clock, batch = Counts(), PassClock(), BatchState()
    for text in texts:
        total.add(_counted(Playing(text, source(), clock, batch), clock, costs))
    return total


def _counted(playing: Playing, clock: PassClock, costs: CostModel | None) -> Counts:
    """Play a text for one user, and count its passes."""
    assert costs or not playing.source.weighs, "it decides by times"
    length, at = playing.recorded.tokens, 0
    counts = Counts(tokens=length)
    while at < length:
        for number, _ in enumerate(playing.drafting(at)):
            if costs:
                clock.seconds += _pass_s(playing, costs, is_first=not number)
        if costs:
            clock.seconds += costs.verify(1, playing.size + 1)
        accepted = playing.judge()
        if costs:
            clock.seconds += costs.fixed(1) + costs.mixing * playing.source.weighs
        _note(counts, playing, accepted)
        at += accepted + 1
    return counts


def _pass_s(playing: Playing, costs: CostModel, *, is_first: bool) -> float:
    first = costs.beginning(1) + costs.catching_up(playing.first_rows) if is_first else 0.0
    return first + costs.draft(1) + costs.look(playing.source.sees)


def _note(counts: Counts, playing: Playing, accepted: int) -> None:
    size, passes = playing.size, playing.passes
    copied = size if playing.recorded.record.is_copied else playing.copied
    counts.rounds[size] += 1
    counts.accepted += accepted
    counts.mixed += playing.source.weighs
    counts.copied += copied
    counts.copied_rounds += copied > 0 and copied == size
    if passes:
        counts.catch_ups += playing.first_rows > 1
        counts.late_rows += playing.late_rows
    if playing.tree:
        counts.trees += size > 0
        counts.in_trees += size
        counts.branched += size - passes


class PlayedRound(NamedTuple):
    """A round that was played along a recorded text."""

    size: int  # tokens that the target judged
    accepted: int
    passes: Sequence[Pass]
    path: Sequence[int]  # the accepted places of a tree


def rounds_of(text: RecordedText, source: Source) -> Iterator[PlayedRound]:
    """Play a text round by round, in no time."""
    playing, at = Playing(text, source, PassClock(), BatchState()), 0
    while at < text.tokens:
        passes = [*playing.drafting(at)]
        accepted = playing.judge()
        yield PlayedRound(playing.size, accepted, passes, playing.path)
        at += accepted + 1


def copied_record(text: RecordedText, source: Source) -> Record:
    """Look at every position of a text for which a source copies, for studies that need them all."""
    playing, found = Playing(text, source, PassClock(), BatchState()), list[tuple[int, int]]()
    for at in range(text.tokens):
        for _ in playing.drafting(at):
            raise ValueError("a source that copies lets no model draft")
        found.append((playing.agreed, playing.copied))
    runs, limits = zip(*found, strict=True)
    return Record(runs, limits, is_copied=True)
