"""Answers to the verdicts of a run: hits, and the backups after misses. From them Theorem 17 says from which batch size
on a backup without the model is better. Standard library only."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from decoding.trace.events import Backup
from decoding.trace.theory import Speculation, critical_batch

HIT = "hit"
MODEL: Backup = "neural"
ENOUGH = 3  # rounds before a mean counts for anything
TOTALS = ("verifying_ns", "preparing_ns", "drafting_ns", "answering_ns", "stepping", "steps")
_NAMES = {"neural": "the draft model", "ngram": "the n-gram", "copy": "the copy", "random": "random tokens"}


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

    @property
    def shares(self) -> dict[str, float]:
        """Share of the misses that each backup answered."""
        misses = {name: count for name, count in sorted(self.rounds.items()) if name != HIT}
        return {name: count / sum(misses.values()) for name, count in misses.items()}

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
        which takes no time. The critical batch goes by the same terms."""
        neural, fast = self.speculation(MODEL), self.speculation(free)
        return free if neural and fast and fast.speedup(texts) >= neural.speedup(texts) else MODEL

    @property
    def critical_batch(self) -> float | None:
        """Theorem 17's batch size, from which a backup without a model is better: the one that was tried, or random
        tokens. None if it is not known, or the model is better at every size."""
        neural, fast = self.speculation(MODEL), self.speculation(self._free)
        if neural is None or fast is None:
            return None
        found = critical_batch(neural, fast)
        return found if math.isfinite(found) else None

    def report(self) -> dict[str, Any] | None:
        """Describe the backups of a run; None if nothing was missed."""
        if not self.shares:
            return None
        return {"share": self.shares, "critical_batch": self.critical_batch, "sentence": self._sentence}

    @property
    def _sentence(self) -> str:
        """Say what answered the misses, and which backup is better."""
        used = ", ".join(f"{_NAMES[name]} answered {100 * share:.0f} %" for name, share in self.shares.items())
        return f"Of the misses, {used}. By Theorem 17, {self._theorem}."

    @property
    def _theorem(self) -> str:
        if self.speculation(MODEL) is None:
            return "nothing is known: the draft model answered too few"
        free = _NAMES[self._free]
        if self.critical_batch is None:
            return f"the draft model is better than {free} for any number of texts at once"
        texts = math.ceil(self.critical_batch)
        known = "" if self._free == "random" else ", where it knows what follows"
        since = f"from {texts} texts at once on" if texts > 1 else "even for one text"
        return f"{free} would be better {since}{known}"

    @property
    def _free(self) -> str:
        """The backup without a model that was used most; random tokens if none was."""
        used = {name: count for name, count in self.rounds.items() if name not in (HIT, MODEL) and count >= ENOUGH}
        return max(used, key=lambda name: used[name], default="random")

    def _tokens_after(self, answer: str) -> float:
        return self.tokens[answer] / self.rounds[answer] if self.rounds[answer] else 1.0
