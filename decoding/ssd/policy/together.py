"""Decisions that the texts of one batch share: which of them get the branches, and which backup is tried.

Standard library only. Whatever is decided here, each text stays the target's: branches and backups say only when a
draft is made, and by whom.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.prices.running import RunningMean
from decoding.ssd.policy.breadth import Breadth
from decoding.ssd.policy.misses import Misses
from decoding.trace.events import Backup

Name = TypeVar("Name", bound=Hashable)  # of a text
BACKUPS: tuple[Backup, ...] = ("neural", "ngram")  # that are tried in turn
STINT = 8  # rounds in which one backup answers all misses, before the other is tried
STINTS = 4  # with which a trial begins: two of each backup
AGAIN = 16  # after so many stints of the faster backup, the other is tried once more
TRIED = 64  # rounds of one backup that its means remember


@dataclass(frozen=True)
class RowBudget:
    """Rows that all texts together have in one pass of the draft."""

    branches: int | None  # None: as many as pay
    hides: bool = True  # whether the draft prepares while the target verifies
    breadth: Breadth = field(default_factory=Breadth)  # which the texts of a run share

    def asks(self, most: int) -> int:
        """Return how many outcomes a text chooses this round, at most so many."""
        return most if self.branches is not None else self.breadth.asks(most)

    def rows(self, asked: Iterable[ChosenOutcomes]) -> int:
        """Return how many of the outcomes that the texts ask for get a row."""
        if self.branches is not None:
            return self.branches
        return self.breadth.choose([value for chosen in asked for value in chosen.values], self.hides)


def shared_out(asked: Mapping[Name, ChosenOutcomes], rows: int) -> dict[Name, ChosenOutcomes]:
    """Give the rows to the outcomes that are likeliest to come, whichever text they belong to.

    Every row of a pass costs the same, and a hit saves its text as many passes as its branch took, so the likeliest
    outcome is also the one that brings most for its price."""
    if sum(len(chosen.outcomes) for chosen in asked.values()) <= rows:
        return dict(asked)
    every = [(-value, text, number) for text, chosen in asked.items() for number, value in enumerate(chosen.values)]
    kept: dict[Name, list[int]] = {text: [] for text in asked}
    for _, text, number in sorted(every, key=lambda one: one[0])[:rows]:
        kept[text].append(number)
    return {text: chosen.only(sorted(kept[text])) for text, chosen in asked.items()}


class Trial:
    """Runs either backup for some rounds in turn, then the one with which the whole batch was faster."""

    def __init__(self, clock_ns: Callable[[], int] = time.perf_counter_ns) -> None:
        self._clock_ns = clock_ns
        self._tokens_of = {backup: RunningMean(TRIED) for backup in BACKUPS}  # of a batch's rounds
        self._ns_of = {backup: RunningMean(TRIED) for backup in BACKUPS}
        self._round = self._rounds = self._tokens = 0
        self._began_ns = 0
        self._now: Backup = "neural"
        self._before: Backup = "neural"  # of the round before, whose verdicts are learnt in this one

    def backup(self, number: int) -> Backup:
        """Return the backup of this round of the batch."""
        self._turn(number)
        return self._now

    def note(self, number: int, tokens: int) -> None:
        """Note, in this round, how many tokens the round before it added to a text."""
        self._turn(number)
        self._tokens += tokens

    @property
    def faster(self) -> Backup:
        return max(BACKUPS, key=lambda backup: self._tokens_of[backup].value / (self._ns_of[backup].value or math.inf))

    def _turn(self, number: int) -> None:
        """Begin a round, when the first text asks in it."""
        if number == self._round:
            return
        now_ns = self._clock_ns()
        if number == self._round + 1 and self._rounds:
            self._tokens_of[self._before].add(self._tokens)
            self._ns_of[self._now].add(now_ns - self._began_ns)
        self._round, self._began_ns, self._before, self._tokens = number, now_ns, self._now, 0
        self._now = self._next(self._rounds // STINT)
        self._rounds += 1

    def _next(self, stint: int) -> Backup:
        if stint < STINTS:
            return "ngram" if stint % 2 else "neural"
        slower: Backup = "ngram" if self.faster == "neural" else "neural"
        return slower if stint % AGAIN == 0 else self.faster


@dataclass(frozen=True)
class Experience:
    """Times and hits that all texts of a run learn together."""

    breadth: Breadth = field(default_factory=Breadth)
    misses: Misses = field(default_factory=Misses)
    trial: Trial = field(default_factory=Trial)
