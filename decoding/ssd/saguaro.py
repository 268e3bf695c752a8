"""Saguaro sampling: the draft holds back from the tokens that the cache will hold, so that after a refusal the target
is likelier to say one of them.

Under ratio dice a refusal is answered from what the target's distribution has in excess of the draft's. The draft's
own favourites, which the branches are opened for, have little excess. Multiplying their probability by a constant
below one before drawing makes room for it; verdicts go by the same bent distribution, so the text stays the target's.
Where the dice fix the text there is no such excess, and nothing to bend (docs/decisions/0021).
"""

from __future__ import annotations

import math

from torch import Tensor


def bend(scores: Tensor, constant: float, guesses: int) -> Tensor:
    """Scores [n, V] with each row's `guesses + 1` best tokens made less likely by the constant: one more than are
    cached, for the drafted token itself is not."""
    if constant == 1.0 or not guesses:
        return scores
    best = scores.topk(min(guesses + 1, scores.shape[-1]), -1)
    return scores.scatter(-1, best.indices, best.values + math.log(constant))
