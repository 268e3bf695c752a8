"""Crowd: the texts of one batch, as a policy sees them. Standard library only.

Everything here stems from earlier rounds, so that no decision depends on a token that the round is still drafting.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from decoding.replay.joint_costs import JointCosts

MEMORY = 16  # rounds that the running means look back
ODDS = 0.8  # of acceptance, before any verdict
VERDICTS = 64  # that the running means of acceptance look back
TRIAL = 16  # after so many rounds in which nobody drafted, one text tries whether it would pay again

Common = TypeVar("Common")


class Crowd:
    def __init__(self, costs: JointCosts | None = None) -> None:
        self.costs = costs  # None: no policy asks for them
        self.running = 1  # texts that take part in this round
        self.round = 0
        self.first = self.follows = ODDS  # how often a draft's first token is accepted, and one after an accepted one
        self._tokens = self._seconds = 0.0  # per round, lately
        self._at_depth: list[float] = []  # entry i: texts that drafted more than i tokens
        self._common: dict[Callable[[], object], object] = {}
        self._idle = 0  # rounds in which nobody drafted

    def begin(self, running: int) -> None:
        """Begin a round of so many texts."""
        self.running = max(1, running)
        self.round += 1

    def common(self, make: Callable[[], Common]) -> Common:
        """Return what the policies of all texts share, made when the first one asks."""
        if make not in self._common:
            self._common[make] = make()
        return self._common[make]  # type: ignore[return-value]

    @property
    def tokens_per_s(self) -> float:
        """How fast all texts together grow; 0 before the first round."""
        return self._tokens / self._seconds if self._seconds else 0.0

    def drafting(self, depth: int) -> float:
        """How many texts usually draft a token at this depth, this one included."""
        return max(1.0, self._at_depth[depth] if depth < len(self._at_depth) else 1.0)

    def tries(self) -> bool:
        """Whether the text that asks is to try a draft that seems not to pay. At most one text of a round is: its draft
        model has read least of what was written meanwhile if it is always the same."""
        if self._idle < TRIAL:
            return False
        self._idle = 0
        return True

    def learn(self, drafted: int, accepted: int) -> None:
        """Learn from a verdict. Tokens after the first refusal were not judged."""
        if drafted:
            self.first += (float(accepted > 0) - self.first) / VERDICTS
        for depth in range(1, min(drafted, accepted + 1)):
            self.follows += (float(accepted > depth) - self.follows) / VERDICTS

    def played(self, drafted: Sequence[int], committed: int, seconds: float) -> None:
        """Learn from a round: the drafts' lengths, the tokens that all texts gained, and its time."""
        share = 1 / MEMORY if self._seconds else 1.0
        self._tokens += (committed - self._tokens) * share
        self._seconds += (seconds - self._seconds) * share
        self._idle = 0 if any(drafted) else self._idle + 1
        self._at_depth += [0.0] * (max(drafted, default=0) - len(self._at_depth))
        for depth, before in enumerate(self._at_depth):
            self._at_depth[depth] += (sum(length > depth for length in drafted) - before) * share


ALONE = Crowd()
