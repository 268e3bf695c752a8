"""Memory that branches take while they are prepared. A choice that needs too much is refused before anything starts.

Standard library only: the plan of a comparison says how much they need."""

from __future__ import annotations

from decoding.choice import Choice
from decoding.errors import OutOfMemory

GIB = 1 << 30
ROWS = 2  # kept of each drafted token: its scores, and what the dice or Saguaro sampling make of them
WIDTH = 4  # bytes of a score
REMEDY = "Use fewer branches or shorter drafts."


def needed_by(choice: Choice, vocab: int) -> int:
    """Bytes for the scores of the branches, 0 if there are none. Keys and values come on top, and are far less."""
    branches, steps = _widest(choice)
    return ROWS * WIDTH * branches * steps * vocab


def what_for(choice: Choice, vocab: int) -> str:
    """Begin a sentence that says how much is needed and for what."""
    branches, steps = _widest(choice)
    return (
        f"{choice.label} needs at least {needed_by(choice, vocab) / GIB:.1f} GiB for the scores of "
        f"{branches} branches of {steps} tokens, {vocab} each"
    )


def check_branches(choice: Choice, vocab: int, free: int) -> None:
    if needed_by(choice, vocab) > free:
        raise OutOfMemory(
            f"{what_for(choice, vocab)}, and {free / GIB:.1f} GiB are free where the draft works. {REMEDY}"
        )


def _widest(choice: Choice) -> tuple[int, int]:
    """The most branches that one text may ask for, and their steps; 0 if it prepares none."""
    ahead = choice.ahead
    return (ahead.most_branches, ahead.lookahead) if ahead else (0, 0)
