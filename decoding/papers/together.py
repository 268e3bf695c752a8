"""Several texts at once, run or simulated: SSD with either backup beside ordinary speculative decoding."""

from __future__ import annotations

import dataclasses
import statistics
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from decoding.choice import Choice, choose
from decoding.core.load import Load
from decoding.dice.sampling import Sampling
from decoding.papers.bootstrap import Estimate, median
from decoding.papers.runs import Ran
from decoding.papers.settings import LONGEST_TOGETHER
from decoding.prices.cost_model import CostModel
from decoding.prices.fit_ahead import with_preparing
from decoding.replay import planning
from decoding.strategies import ssd
from decoding.trace.accounting import answers_of
from decoding.trace.answers import HIT

Backup = Literal["neural", "random"]
LOOKAHEADS = (2, 4)  # of each kind; longer drafts do not pay where texts share passes
BACKUPS: tuple[Backup, ...] = ("neural", "random")


def phase(texts: int) -> str:
    return f"running SSD, {Load(texts)}"


def shortened(sampling: Sampling) -> Sampling:
    return dataclasses.replace(sampling, max_new_tokens=min(LONGEST_TOGETHER, sampling.max_new_tokens))


def undrafted(texts: int) -> Choice:
    return planning.AUTOREGRESSIVE.at(Load(texts))


def plain(texts: int) -> list[Choice]:
    """Ordinary speculative decoding of so many texts."""
    return [planning.static(k).at(Load(texts)) for k in LOOKAHEADS]


def ahead(texts: int, backup: Backup) -> list[Choice]:
    """SSD of so many texts, with one branch for each accepted count of each text, as in the paper."""
    settings = [
        {"lookahead": k, "branches": texts * (k + 1), "fanout": "uniform", "backup": backup} for k in LOOKAHEADS
    ]
    return [choose(ssd.STRATEGY.slug, each).at(Load(texts)) for each in settings]


def choices(texts: int) -> list[Choice]:
    return [undrafted(texts), *plain(texts), *(choice for backup in BACKUPS for choice in ahead(texts, backup))]


class ByBatch(ABC):
    """Speeds of these choices at every number of texts."""

    @abstractmethod
    def speeds(self, choice: Choice) -> Sequence[float]:
        """Tokens per second of each text, in one order for all choices."""

    def undrafted(self, texts: int) -> Choice:
        return undrafted(texts)

    def plain(self, texts: int) -> Choice:
        """The fastest fixed lookahead."""
        return self._fastest(plain(texts))

    def ahead(self, texts: int, *backups: Backup) -> Choice:
        """The fastest SSD with one of these backups, or with any."""
        return self._fastest([choice for backup in backups or BACKUPS for choice in ahead(texts, backup)])

    def ratio(self, choice: Choice, other: Choice) -> Estimate:
        """Speed of a text over the same text's under another choice."""
        pairs = zip(self.speeds(choice), self.speeds(other), strict=True)
        return median([ours / theirs for ours, theirs in pairs])

    def gain(self, choice: Choice) -> Estimate:
        """Speed of a text over that of one text alone without a draft."""
        return self.ratio(choice, undrafted(1))

    def _fastest(self, found: Iterable[Choice]) -> Choice:
        return max(found, key=lambda choice: statistics.median(self.speeds(choice)))


@dataclass(frozen=True)
class MergedRuns(ByBatch):
    """Finished runs of every number of texts."""

    ran: Ran

    @classmethod
    def of(cls, runs: Iterable[Ran]) -> MergedRuns:
        merged = Ran({})
        for ran in runs:
            merged = Ran(**{name: {**had, **getattr(ran, name)} for name, had in vars(merged).items()})
        return cls(merged)

    def speeds(self, choice: Choice) -> Sequence[float]:
        return [speed for _, speed in sorted(self.ran.speeds[choice.label].items())]

    def hit_rate(self, choice: Choice) -> float:
        rounds = answers_of(self.ran.hits[choice.label]).rounds
        return rounds[HIT] / max(1, rounds.total())

    def preparing(self, choice: Choice, costs: CostModel) -> CostModel | None:
        """Prices of preparing in this run, less what slowed down autoregressive too. None if nothing was prepared."""
        hits, texts = self.ran.hits[choice.label], choice.load.concurrency
        if not any(sample["passes"] for sample in hits):
            return None
        drift = self.ran.verifying[undrafted(texts).label] / costs.verify(texts, texts)
        return with_preparing(costs, [(int(choice.params["branches"]), hits, self.slower(choice))], texts, drift)

    def slower(self, choice: Choice) -> float:
        """How many times as long a verification takes as with a fixed lookahead of as many tokens."""
        number = LOOKAHEADS.index(int(choice.params["lookahead"]))
        return self.ran.verifying[choice.label] / self.ran.verifying[plain(choice.load.concurrency)[number].label]
