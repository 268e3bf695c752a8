"""Memory that branches take while they are prepared. A choice that needs too much is refused before anything starts.

Standard library only: the plan of a comparison says how much they need."""

from __future__ import annotations

from decoding.choice import Choice
from decoding.errors import OutOfMemory

GIB = 1 << 30
ROWS = 2  # kept of each drafted token: its scores, and what the dice or Saguaro sampling make of them
WIDTH = 4  # bytes of a score


def needed_by(choice: Choice, vocab: int) -> int:
    """Bytes for the scores of the branches, 0 if there are none. Keys and values come on top, and are far less."""
    branches, steps = _widest(choice)
    return ROWS * WIDTH * branches * steps * vocab


def check_branches(choice: Choice, vocab: int, free: int) -> None:
    needed = needed_by(choice, vocab)
    if needed > free:
        branches, steps = _widest(choice)
        raise OutOfMemory(
            f"{choice.label} needs at least {needed / GIB:.1f} GiB for the scores of {branches} branches of {steps} "
            f"tokens, {vocab} each, and {free / GIB:.1f} GiB are free where the draft works. Use fewer branches or "
            "shorter drafts."
        )


def _widest(choice: Choice) -> tuple[int, int]:
    """The most branches that one text may ask for, and their steps; 0 if it prepares none."""
    ahead = choice.ahead
    return (ahead.most_branches, ahead.lookahead) if ahead else (0, 0)
