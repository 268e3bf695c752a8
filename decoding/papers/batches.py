"""Choices that run side by side and what came of them, and several texts at once. Loads no torch."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal

from decoding.choice import Choice, choose
from decoding.core.load import Load
from decoding.drafting.records import RecordedText
from decoding.papers.bootstrap import Estimate, median
from decoding.papers.settings import AUTOREGRESSIVE, STATICS, Origin
from decoding.prices.cost_model import CostModel
from decoding.prices.fit_ahead import prepared_in
from decoding.replay.at_load import PlayedRequest, play
from decoding.replay.ssd.simulator import simulate_together
from decoding.ssd.policy.ssd_policy import Plan
from decoding.strategies import ssd

Backup = Literal["neural", "random"]
Way = Any  # to decode: a choice, or what a formula is fed with
Speeds = Sequence[float]  # of each text, in tokens per second, in one order for all choices
LOOKAHEADS = (2, 4)  # of each kind; longer drafts do not pay where texts share passes
BACKUPS: tuple[Backup, ...] = ("neural", "random")
KEPT = ("prompt", "tokens_per_s", "hits", "num_target_passes", "num_draft_tokens", "verify_ns")


def ahead_of(lookahead: int, each: int, backup: Backup = "neural") -> Choice:
    """SSD with so many branches for each accepted count."""
    branches = each * (lookahead + 1)
    named = {"lookahead": lookahead, "branches": branches, "fanout": "uniform", "backup": backup}
    return choose(ssd.STRATEGY.slug, named)


def undrafted(texts: int) -> Choice:
    return AUTOREGRESSIVE.at(Load(texts))


def plain(texts: int) -> list[Choice]:
    """Ordinary speculative decoding of so many texts."""
    return [STATICS[k - 1].at(Load(texts)) for k in LOOKAHEADS]


def ahead(texts: int, backup: Backup) -> list[Choice]:
    """SSD of so many texts, with one branch for each accepted count of each text, as in the paper."""
    return [ahead_of(k, texts, backup).at(Load(texts)) for k in LOOKAHEADS]


def choices(texts: int) -> list[Choice]:
    return [undrafted(texts), *plain(texts), *(choice for backup in BACKUPS for choice in ahead(texts, backup))]


class ByBatch:
    """Ways to decode so many texts at once, and how fast one is beside another. Here a way is a choice whose speeds are
    known text by text."""

    origin: Origin

    def speeds(self, choice: Choice) -> Speeds:
        raise NotImplementedError

    def undrafted(self, texts: int) -> Way:
        return undrafted(texts)

    def plain(self, texts: int) -> Way:
        """The fastest fixed lookahead."""
        return self._fastest(plain(texts))

    def ahead(self, texts: int, *backups: Backup) -> Way:
        """The fastest SSD with one of these backups, or with any."""
        return self._fastest([choice for backup in backups or BACKUPS for choice in ahead(texts, backup)])

    def ratio(self, way: Way, other: Way) -> Estimate:
        """Speed of a text over the same text's in another way."""
        pairs = zip(self.speeds(way), self.speeds(other), strict=True)
        return median([ours / theirs for ours, theirs in pairs])

    def gain(self, way: Way) -> Estimate:
        """Speed of a text over that of one text alone without a draft."""
        return self.ratio(way, undrafted(1))

    def label(self, way: Way, other: Way) -> str:
        return f"{way.label} / {other.label}"

    def _fastest(self, found: Iterable[Choice]) -> Choice:
        return max(found, key=lambda choice: statistics.median(self.speeds(choice)))


@dataclass(frozen=True)
class Ran(ByBatch):
    """Samples of finished runs, by label: of each the numbers that KEPT names."""

    samples: Mapping[str, Sequence[Mapping[str, Any]]]
    origin: Origin = "measured"

    def speeds(self, choice: Choice) -> Speeds:
        return [one["tokens_per_s"] for one in sorted(self.samples[choice.label], key=itemgetter("prompt"))]

    def preparing(self, choice: Choice, costs: CostModel) -> CostModel | None:
        """Prices of preparing in this run. None if nothing was prepared."""
        texts = choice.load.concurrency
        own, alone = (self.samples[each.label] for each in (choice, undrafted(texts)))
        return prepared_in([(int(choice.params["branches"]), own)], alone, costs, texts)


@dataclass(frozen=True)
class SimulatedBatches(ByBatch):
    """Recorded texts at costs of joint passes. The draft has devices of its own."""

    texts: Sequence[RecordedText]
    costs: CostModel
    plan: Callable[[Choice], Plan]  # of a choice that prepares ahead
    prices: Callable[[Choice], CostModel]  # for it
    devices: int = 1  # for the draft: each prepares the branches of the choice
    origin: Origin = "simulated"
    _played: dict[str, Speeds] = field(default_factory=dict)  # by label

    def speeds(self, choice: Choice) -> Speeds:
        if choice.label not in self._played:
            self._played[choice.label] = self._play(choice)
        return self._played[choice.label]

    def on(self, devices: int) -> SimulatedBatches:
        """Return the same texts with so many devices for the draft."""
        return dataclasses.replace(self, devices=devices, _played={})

    def _play(self, choice: Choice) -> Speeds:
        texts = choice.load.concurrency
        if choice.spec.prepares_ahead:
            plan = self.plan(choice)
            prices = self.prices(choice)
            requests = simulate_together(self.texts, plan, prices, texts, beside=True, devices=self.devices).requests
        else:
            requests = play(self.texts, choice.sources(), self.costs, texts, drafts=choice.spec.needs_draft).requests
        return [*map(_speed, requests)]


def _speed(request: PlayedRequest) -> float:
    """Tokens per second after the first round, which ends with the prompt's time; of a text of one round, over all."""
    later = sum(one.accepted + 1 for one in request.rounds[1:])
    return later / (request.end - request.first) if later else request.tokens / request.end
