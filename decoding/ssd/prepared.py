"""What a preparation has come to, as it is told to the target's side."""

from __future__ import annotations

from typing import NamedTuple


class Prepared(NamedTuple):
    """What was prepared since the last answer. Times are `time.perf_counter_ns()`, which all processes share."""

    branches: tuple[tuple[int, int, int], ...] = ()  # (accepted count, the target's token, depth reached)
    predicted_hit: float = 0.0
    fanout: tuple[int, ...] = ()  # entry k: how many branches for k accepted
    passes: int = 0  # opening the branches counts as one, whether or not the model had to run for it
    busy_ns: int = 0
    opening_ns: int = 0  # of that, the first pass: it brings the cache up to date and opens the branches
    start_ns: int = 0
    end_ns: int = 0
    idle_ns: int = 0  # from then until now

    def after(self, began: int, ended: int) -> Prepared:
        """One pass more."""
        return self._replace(
            passes=self.passes + 1,
            busy_ns=self.busy_ns + ended - began,
            opening_ns=self.opening_ns or ended - began,
            start_ns=self.start_ns or began,
            end_ns=ended,
        )


NOTHING = Prepared()
