"""How much memory branches take while they are prepared, refused before anything starts where it is not there. Standard
library only: who submits is told what no worker can do, and a worker what is not free just now."""

from __future__ import annotations

from decoding.errors import OutOfMemory
from decoding.spec import Choice

GIB = 1 << 30
ROWS = 2  # that are kept of each drafted token: its scores, and what the dice or the draft's holding back make of them
WIDTH = 4  # bytes of a score
REMEDY = "Use fewer branches or shorter drafts."


def needed_by(choice: Choice, vocab: int) -> int:
    """Bytes, none where no branches are. Their scores are by far the most of it; keys and values come on top."""
    return ROWS * WIDTH * int(choice.params.get("branches", 0)) * _steps(choice) * vocab


def what_for(choice: Choice, vocab: int) -> str:
    """So much, and for what, as the beginning of a sentence that says how much there is."""
    return (
        f"{choice.label} needs at least {needed_by(choice, vocab) / GIB:.1f} GiB for the scores of "
        f"{choice.params['branches']} branches of {_steps(choice)} tokens, {vocab} each"
    )


def check_branches(choice: Choice, vocab: int, free: int) -> None:
    if needed_by(choice, vocab) > free:
        raise OutOfMemory(
            f"{what_for(choice, vocab)}, and {free / GIB:.1f} GiB are free where the draft works. {REMEDY}"
        )


def _steps(choice: Choice) -> int:
    return int(choice.params.get("lookahead", choice.params.get("cap", 0)))
