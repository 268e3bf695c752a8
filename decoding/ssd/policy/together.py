"""Decisions that texts share: which of them get the branches, and which backup answers a miss.

Standard library only. Whatever is decided here, each text stays the target's: branches and backups say only when a
draft is made, and by whom.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from decoding.drafting.fan_outs import ChosenOutcomes
from decoding.ssd.policy.breadth import Breadth
from decoding.trace.accounting import MODEL, Answers
from decoding.trace.events import Backup

Name = TypeVar("Name", bound=Hashable)  # of a text
NGRAM: Backup = "ngram"
LEAST = 8  # misses that each backup answers in turn, before they are compared
AGAIN = 16  # after so many misses, the slower backup answers one
MOST = 2048  # rounds, from which on the older ones count half


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


class Misses:
    """Rounds of all texts of a run, by what answered the verdict before each. Backups answer in turn at first: if one
    answered only where it looked better, the texts there would speak for it."""

    def __init__(self) -> None:
        self._rounds, self._tokens = Counter[str](), Counter[str]()
        self._verifying_ns = self._drafting_ns = 0.0
        self._asked = 0

    def note_round(self, answer: str, tokens: int, took_ns: float, drafting_ns: float = 0.0) -> None:
        """Note a round: the tokens that it added, its time from the draft to the next question, and before that the
        time in which the target waited for the model's draft."""
        if self._rounds.total() >= MOST:
            self._forget()
        self._rounds[answer] += 1
        self._tokens[answer] += tokens
        self._verifying_ns += took_ns
        self._drafting_ns += drafting_ns

    def choose(self, texts: int = 1) -> Backup:
        """Return the backup for a miss of one of so many texts that wait for one another."""
        self._asked += 1
        fewer: Backup = NGRAM if self._rounds[NGRAM] < self._rounds[MODEL] else "neural"
        if self._rounds[fewer] < LEAST:
            return fewer
        faster = self.answers.faster(NGRAM, texts)
        return faster if self._asked % AGAIN else ("neural" if faster == NGRAM else NGRAM)

    @property
    def answers(self) -> Answers:
        """The rounds as a report counts them."""
        verifying_ns, drafting_ns = round(self._verifying_ns), round(self._drafting_ns)
        return Answers(self._rounds, self._tokens, verifying_ns=verifying_ns, drafting_ns=drafting_ns)

    def _forget(self) -> None:
        for counts in (self._rounds, self._tokens):
            for name in counts:
                counts[name] = round(counts[name] / 2)
        self._verifying_ns, self._drafting_ns = self._verifying_ns / 2, self._drafting_ns / 2


@dataclass(frozen=True)
class Experience:
    """Times and hits that all texts of a run learn together."""

    breadth: Breadth = field(default_factory=Breadth)
    misses: Misses = field(default_factory=Misses)
