"""Mixing: a policy that decides in each round how many tokens to copy from the text, and how many the draft model adds.
Standard library only, so that the decode loop, replay, planner and what-if drive the same object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from decoding.proposing import Proposer
from decoding.strategy import Policy


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict on a draft of both sources."""

    copied: int  # tokens of the draft that were copied
    drafted: int  # tokens that the draft model added
    passes: int  # of the draft model
    accepted: int
    took: float = 0.0  # time of the verification, in ns
    drafting: float = 0.0  # time of drafting, in ns


class Mixing(Policy):
    """Decides about copies and about the draft model. One object serves one text."""

    estimates: list[float]  # of the round's tokens, copied and drafted

    def foresees(self, run: int) -> None:
        """Learn how many tokens of the draft model the target would accept. Only the policy of a bound is told."""

    def takes(self, estimates: Sequence[float]) -> int:
        """Return how many tokens of a copy to take, from its proposer's estimate of each. Set `lookahead`, the most
        tokens that the draft model may add. The policy of a bound sees fates in place of estimates."""
        raise NotImplementedError

    def verified(self, judgement: Judgement) -> None:
        """Learn from the verdict on the round's draft."""

    def looked_back(self, agreed: int, shown: int) -> None:
        """Learn about the last copy, taken or not: the target wrote `shown` tokens in its place, and the first `agreed`
        were the same."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Parts that one text needs to mix its sources."""

    proposer: Proposer
    policy: Mixing


MixOf = Callable[..., Mix]  # called with the memory of the run, a clock in ns, and the strategy's parameters
