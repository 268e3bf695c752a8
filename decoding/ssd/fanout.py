"""How many branches each accepted count gets. Pure, standard library only.

A fan-out is a tuple of lookahead + 1 numbers: entry k, how many of the target's tokens are guessed for the case that
exactly k drafted tokens are accepted.
"""

from __future__ import annotations

from collections.abc import Sequence

FanOut = tuple[int, ...]


def uniform(lookahead: int, branches: int) -> FanOut:
    """The same for every count. What does not divide goes to the last first: all accepted is the likeliest case."""
    share, left = divmod(branches, lookahead + 1)
    extra = [lookahead, *range(lookahead)][:left]
    return tuple(share + (k in extra) for k in range(lookahead + 1))


def places(fanout: Sequence[int]) -> list[int]:
    """The accepted count of each branch, in order."""
    return [k for k, count in enumerate(fanout) for _ in range(count)]
