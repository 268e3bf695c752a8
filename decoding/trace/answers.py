"""Answers to the verdicts of a run: hits, and the backups after misses. They tell which backup adds more tokens per
second. Standard library only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from decoding.trace.events import Backup
from decoding.trace.theory import Speculation

HIT = "hit"
MODEL: Backup = "neural"
ENOUGH = 3  # rounds before a mean counts for anything
TOTALS = ("verifying_ns", "preparing_ns", "drafting_ns", "answering_ns", "stepping", "steps")


@dataclass(frozen=True)
class Answers:
    """Counts of one sample or of many: plain numbers."""

    rounds: Counter[str] = field(default_factory=Counter)  # by what answered: hit, neural, ngram, random
    tokens: Counter[str] = field(default_factory=Counter)  # that these rounds added to the text
    verifying_ns: int = 0
    preparing_ns: int = 0  # not hidden by a verification
    drafting_ns: int = 0  # by the model, while the target waited
    answering_ns: int = 0  # from all questions to their answers, less what was left of a step of preparing
    stepping: int = 0  # answers for which the model ran: after misses, and where a hit was not long enough yet
    steps: int = 0  # of the model for these

    @classmethod
    def added(cls, samples: Sequence[Mapping[str, Any]]) -> Answers:
        """Add up those of samples, read from JSON."""
        found = cls()
        totals: Counter[str] = Counter()
        for one in samples:
            found.rounds.update(one["rounds"])
            found.tokens.update(one["tokens"])
            totals.update({name: one.get(name, 0) for name in TOTALS})  # older samples have fewer
        more: dict[str, Any] = {name: totals[name] for name in TOTALS}
        return replace(found, **more)

    def speculation(self, backup: str) -> Speculation | None:
        """The terms of Corollary 16 with one backup, in units of one verification; None if they are not known. Random
        tokens are hardly ever accepted, so a round with them adds one token, whether or not they were tried."""
        if self.rounds[MODEL] < ENOUGH or not self.verifying_ns:
            return None
        rounds, verifying = self.rounds.total(), self.verifying_ns / self.rounds.total()
        waiting = self.preparing_ns / rounds / verifying  # after a miss too
        return Speculation(
            hit_rate=self.rounds[HIT] / rounds,
            tokens_on_hit=self._tokens_after(HIT),
            tokens_on_miss=self._tokens_after(backup),
            preparing=1 + waiting,
            backup=waiting + (self.drafting_ns / self.rounds[MODEL] / verifying if backup == MODEL else 0.0),
        )

    def faster(self, free: Backup, texts: int) -> Backup:
        """Return the backup with which rounds of so many texts add more tokens per second: the model, or this one,
        which takes no time."""
        neural, fast = self.speculation(MODEL), self.speculation(free)
        return free if neural and fast and fast.speedup(texts) >= neural.speedup(texts) else MODEL

    def _tokens_after(self, answer: str) -> float:
        return self.tokens[answer] / self.rounds[answer] if self.rounds[answer] else 1.0
