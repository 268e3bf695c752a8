"""What the steps of SSD cost: measured on traces of live runs, or taken from what others published. Standard library
only."""

from __future__ import annotations

from dataclasses import dataclass

from decoding.costs import Costs


@dataclass(frozen=True)
class Prices:
    """Seconds, and where they come from."""

    source: str
    passes: Costs
    branch_step: tuple[float, ...]  # entry n: one step of n branches; entry 0 is not used
    opening: float  # before the first step: the winner's cache, the row after its last token, the forks
    answer: float = 0.0  # a hit, from the verdict read to the draft sent
    transport: float = 0.0  # one message, one way

    def step(self, branches: int) -> float:
        """More branches than were measured cost what the last of them suggest."""
        last = len(self.branch_step) - 1
        if branches <= last:
            return self.branch_step[branches]
        slope = max(0.0, (self.branch_step[last] - self.branch_step[last // 2]) / (last - last // 2)) if last > 1 else 0
        return self.branch_step[last] + (branches - last) * slope

    def drafting(self, tokens: int) -> float:
        """One token after another, while the target waits."""
        return tokens * self.passes.draft + self.passes.draft_round if tokens else 0.0
