"""What verdicts have been like so far in a sample: how many tokens are accepted, and how high on the draft's own list
the target's token stands. Predictions are counts on top of a prior, so that the first rounds have some too.

The prior is weak: two dozen tokens' worth of an acceptance, as many of a rank that is missed by F guesses with
probability (F + 1) ** -1.2, as the starter pair's was under its default sampling (docs/log/2026-11.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from decoding.ssd import fanout

RANKS = 12  # places of the draft's list that are told apart
PRIOR_TOKENS = 24.0
PRIOR_POWER = 1.2
PRIOR_TAIL = [(rank + 1) ** -PRIOR_POWER - (rank + 2) ** -PRIOR_POWER for rank in range(RANKS)]

Case = Literal["refused", "bonus"]


class Outcomes:
    def __init__(self, acceptance: float) -> None:
        self._prior = acceptance
        self._judged: Counter[int] = Counter()  # position in the draft -> drafts judged there
        self._accepted: Counter[int] = Counter()
        self._ranks: dict[Case, Counter[int]] = {"refused": Counter(), "bonus": Counter()}

    def tell(self, drafted: int, accepted: int, rank: int | None) -> None:
        """A verdict; `rank` is RANKS or more for a token that stands lower than what is counted, None if unknown."""
        self.judged(drafted, accepted)
        if rank is not None:
            self.stood("bonus" if accepted == drafted else "refused", rank)

    def judged(self, drafted: int, accepted: int) -> None:
        self._judged.update(range(min(accepted + 1, drafted)))
        self._accepted.update(range(accepted))

    def stood(self, case: Case, rank: int) -> None:
        self._ranks[case][rank] += 1

    @property
    def acceptance(self) -> float:
        """Of a token, once all before it are accepted."""
        return (self._accepted.total() + PRIOR_TOKENS * self._prior) / (self._judged.total() + PRIOR_TOKENS)

    def chances(self, drafted: int) -> list[float]:
        """Of each accepted count. Each position has a rate of its own, as far as it has been counted."""
        pooled = self.acceptance
        return fanout.chances(
            [(self._accepted[i] + PRIOR_TOKENS * pooled) / (self._judged[i] + PRIOR_TOKENS) for i in range(drafted)]
        )

    def shares(self, case: Case) -> list[float]:
        """The probability of each rank."""
        counted = self._ranks[case]
        prior = self._prior_shares(case)
        total = counted.total() + PRIOR_TOKENS
        return [(counted[rank] + PRIOR_TOKENS * prior[rank]) / total for rank in range(RANKS)]

    def worth(self, drafted: int) -> list[list[float]]:
        """The probability of each accepted count with each rank."""
        *refused, whole = self.chances(drafted)
        shares = self.shares("refused")
        return [
            *([chance * share for share in shares] for chance in refused),
            [whole * share for share in self.shares("bonus")],
        ]

    @property
    def exponent(self) -> float:
        """The power by which misses fall with the number of guesses."""
        shares = self.shares("refused")
        return fanout.exponent(lambda count: 1.0 - sum(shares[:count]))

    def _prior_shares(self, case: Case) -> Sequence[float]:
        """After a whole acceptance the likeliest token is right as often as a drafted one; what is left, and all after
        a refusal, falls with the rank."""
        if case == "refused":
            return PRIOR_TAIL
        first = self.acceptance
        return [first, *((1 - first) * share for share in PRIOR_TAIL[:-1])]
