"""How much memory branches take while they are prepared, refused before anything starts where it is not there."""

from __future__ import annotations

from decoding.errors import OutOfMemory
from decoding.spec import Choice

GIB = 1 << 30
ROWS = 2  # that are kept of each drafted token: its scores, and what the dice or the draft's holding back make of them
WIDTH = 4  # bytes of a score


def check_branches(choice: Choice, vocab: int, free: int) -> None:
    """Their scores are by far the most of it; keys and values come on top."""
    branches = int(choice.params.get("branches", 0))
    steps = int(choice.params.get("lookahead", choice.params.get("cap", 0)))
    needed = ROWS * WIDTH * branches * steps * vocab
    if branches and needed > free:
        raise OutOfMemory(
            f"{choice.label} needs at least {needed / GIB:.1f} GiB for the scores of {branches} branches of {steps} "
            f"tokens, {vocab} each, and {free / GIB:.1f} GiB are free where the draft works. Use fewer branches or "
            "shorter drafts."
        )
