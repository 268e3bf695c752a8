"""Counts of passes, which a cost model turns into seconds. Standard library only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Counts:
    """How often each kind of pass would run."""

    tokens: int = 0
    rounds: Counter[int] = field(default_factory=Counter)  # drafted tokens that the target judged -> number of rounds
    accepted: int = 0
    drafts: int = 0  # rounds in which the draft model ran
    draft_passes: int = 0
    catch_ups: int = 0  # first draft passes with two rows: the draft had not seen the last accepted token
    late_rows: int = 0  # further rows of first draft passes, after rounds without one or a copy
    mixed: int = 0  # rounds that weighed a copy against the draft model
    trees: int = 0  # rounds whose draft was a tree
    in_trees: int = 0  # drafted tokens of trees
    parts: list[Counts] = field(default_factory=list, compare=False, repr=False)  # the counts of each record

    @property
    def target_passes(self) -> int:
        return self.rounds.total()

    @property
    def drafted(self) -> int:
        """Tokens drafted or copied, and judged."""
        return sum(drafted * rounds for drafted, rounds in self.rounds.items())

    def note(
        self, drafted: int, accepted: int, passes: int, read: int, *, is_tree: bool, is_mixed: bool = False
    ) -> None:
        """Count a round. The first pass of the draft model read so many rows."""
        self.rounds[drafted] += 1
        self.accepted += accepted
        self.mixed += is_mixed
        if passes:
            self.drafts += 1
            self.draft_passes += passes
            self.catch_ups += read > 1
            self.late_rows += max(0, read - 2)
        if is_tree:
            self.trees += 1
            self.in_trees += drafted

    def add(self, part: Counts) -> None:
        for name in vars(part).keys() - {"parts"}:
            setattr(self, name, getattr(self, name) + getattr(part, name))
        self.parts.append(part)
