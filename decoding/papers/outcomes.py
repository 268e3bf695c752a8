"""Hits and accepted tokens under the ratio rule, from both models' probabilities along recorded texts. Standard library
only.

At temperature 0 a text decides every round. Above 0 chance decides it too, but given the text the chances are known: a
round that drafts where the target wrote token y accepted the draft's token there with probability min(1, q(y)/p(y)).
So expected hits of any fan-out and lookahead follow from three numbers for each position, and no model runs again.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from decoding.drafting.fan_outs import FanOut, fitted


@dataclass(frozen=True)
class Outcomes:
    """One text, position by position."""

    accepts: Sequence[float]  # probability that a token drafted here was accepted, given the text's token
    ranks: Sequence[int]  # how many tokens the draft prefers to the text's
    above: Sequence[float]  # if the drafted token was refused, the probability that it is one of those

    def __len__(self) -> int:
        return len(self.ranks)

    def covered(self, at: int, branches: int, is_bonus: bool) -> float:
        """Probability that so many branches hold the target's token here. The refused token needs no branch."""
        if self.ranks[at] < branches:
            return 1.0
        return self.above[at] if self.ranks[at] == branches and not is_bonus else 0.0

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


class OutcomeTally(NamedTuple):
    """Expected counts of one text, or of several."""

    hits: float = 0.0  # rounds whose draft was ready, and the tokens that they added
    tokens_on_hit: float = 0.0
    misses: float = 0.0
    tokens_on_miss: float = 0.0
    after_model: float = 0.0  # outcomes of drafts that the model made, and those that had a branch
    hits_after_model: float = 0.0
    after_backup: float = 0.0  # the same for drafts of random tokens
    hits_after_backup: float = 0.0
    judged: float = 0.0  # drafted tokens of the model until the first refused one
    accepted: float = 0.0

    @property
    def hit_rate(self) -> float:
        return self.hits / (self.hits + self.misses) if self.hits + self.misses else 0.0

    @property
    def miss_after_model(self) -> float:
        return 1.0 - self.hits_after_model / self.after_model if self.after_model else 1.0

    @property
    def miss_after_backup(self) -> float:
        return 1.0 - self.hits_after_backup / self.after_backup if self.after_backup else 1.0

    @property
    def acceptance(self) -> float:
        return self.accepted / self.judged if self.judged else 0.0

    @property
    def tokens_per_hit(self) -> float:
        return self.tokens_on_hit / self.hits if self.hits else 1.0

    @property
    def tokens_per_miss(self) -> float:
        return self.tokens_on_miss / self.misses if self.misses else 1.0

    @property
    def tokens_per_round(self) -> float:
        rounds = self.hits + self.misses
        return (self.tokens_on_hit + self.tokens_on_miss) / rounds if rounds else 1.0


def total(tallies: Iterable[OutcomeTally]) -> OutcomeTally:
    return OutcomeTally(*map(sum, zip(*tallies, strict=True)))


def play(outcomes: Outcomes, fan_out: FanOut, backup: FanOut | None = None) -> OutcomeTally:
    """Expected counts of one text. After a miss the model drafts while the target waits; with `backup`, the fan-out
    beside such a draft, random tokens stand in for it, which the target refuses at once."""
    return _Text(outcomes, fan_out, backup).played()


@dataclass
class _Text:
    """Probabilities that a round begins at each position, by the source of its draft."""

    outcomes: Outcomes
    fan_out: FanOut
    backup: FanOut | None
    sums: dict[str, float] = field(default_factory=lambda: dict.fromkeys(OutcomeTally._fields, 0.0))

    def __post_init__(self) -> None:
        count = len(self.outcomes) + 1
        self.ready, self.made, self.random = [0.0] * count, [0.0] * count, [0.0] * count
        self.made[0] = 1.0

    def played(self) -> OutcomeTally:
        for start in range(len(self.outcomes) - 1):  # the last token is the target's alone
            self._by_model(start)
            self._by_chance(start)
        return OutcomeTally(**self.sums)

    def _by_model(self, start: int) -> None:
        ready, made = self.ready[start], self.made[start]
        drafted = min(len(self.fan_out) - 1, len(self.outcomes) - start - 1)
        branches, chance = fitted(self.fan_out, drafted), ready + made
        if not chance:
            return
        for k in range(drafted + 1):
            is_bonus = k == drafted
            accepts = 0.0 if is_bonus else self.outcomes.accepts[start + k]
            if not is_bonus:
                self._add(judged=chance, accepted=chance * accepts)
            ends = chance * (1.0 - accepts)
            share = ready / (ready + made)
            if start:
                self._count(ends, share, k + 1)
            self._leave(start + k, ends, self.outcomes.covered(start + k, branches[k], is_bonus), "model")
            chance *= accepts

    def _by_chance(self, start: int) -> None:
        chance = self.random[start]
        if chance and self.backup:
            self._count(chance, 0.0, 1)
            self._leave(start, chance, self.outcomes.covered(start, self.backup[0], True), "backup")

    def _count(self, rounds: float, share: float, tokens: int) -> None:
        """Count rounds, of which this share had their draft ready."""
        self._add(hits=rounds * share, misses=rounds * (1 - share))
        self._add(tokens_on_hit=tokens * rounds * share, tokens_on_miss=tokens * rounds * (1 - share))

    def _leave(self, at: int, chance: float, covered: float, source: str) -> None:
        """End rounds at a position: the next begins behind it."""
        if at + 2 >= len(self.ready):
            return  # no room for another draft
        self._add(**{f"after_{source}": chance, f"hits_after_{source}": chance * covered})
        self.ready[at + 1] += chance * covered
        (self.random if self.backup else self.made)[at + 1] += chance * (1.0 - covered)

    def _add(self, **more: float) -> None:
        for name, value in more.items():
            self.sums[name] += value
