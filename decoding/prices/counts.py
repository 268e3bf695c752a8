"""Counts of passes, which a cost model turns into seconds. Standard library only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Counts:
    """How often each kind of pass would run."""

    tokens: int = 0
    rounds: Counter[int] = field(default_factory=Counter)  # drafted tokens -> number of rounds
    accepted: int = 0
    catch_ups: int = 0  # first draft passes with two rows: the draft had not seen the last accepted token
    copied: int = 0  # drafted tokens that took no pass of the draft model
    copied_rounds: int = 0  # rounds whose whole draft was copied
    late_rows: int = 0  # further rows of first draft passes: tokens that another source had added
    mixed: int = 0  # rounds that weighed a copy against the draft model
    trees: int = 0  # rounds whose draft was a tree
    in_trees: int = 0  # drafted tokens of trees
    branched: int = 0  # drafted tokens of trees that took no pass of their own, since a level is drafted in one
    parts: list[Counts] = field(default_factory=list, compare=False, repr=False)  # the counts of each record

    @property
    def target_passes(self) -> int:
        return self.rounds.total()

    @property
    def drafted(self) -> int:
        """Tokens drafted or copied."""
        return sum(drafted * rounds for drafted, rounds in self.rounds.items())

    @property
    def draft_passes(self) -> int:
        return self.drafted - self.copied - self.branched

    @property
    def drafts(self) -> int:
        """Rounds in which the draft model ran."""
        return self.target_passes - self.rounds[0] - self.copied_rounds

    def add(self, part: Counts) -> None:
        for name in vars(part).keys() - {"parts"}:
            setattr(self, name, getattr(self, name) + getattr(part, name))
        self.parts.append(part)
