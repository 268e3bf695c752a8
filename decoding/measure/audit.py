"""Audit of a text against the target's. Where the two first differ, is that rounding or a real difference?"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from decoding.dice import dice_for
from decoding.measure.summary import Audit
from decoding.models.runner import ModelRunner
from decoding.spec import Sampling

# Largest distance between two scores for which their order may be due to rounding, in units of the number format's
# rounding at the size of the row's largest logit. A pass over several rows adds products in another order than a pass
# over one row; float32 keeps that error in all its sums, the short formats only where they round.
TIE_UNITS = {torch.float64: 64.0, torch.float32: 64.0, torch.bfloat16: 8.0, torch.float16: 8.0}


def audit(
    tokens: Sequence[int],
    expected: Sequence[int],
    prompt: Sequence[int],
    *,
    target: ModelRunner,
    dtype: torch.dtype,
    sampling: Sampling,
    seed: int,
    vocab: int,
) -> Audit:
    """Compare a strategy's tokens with autoregressive's. Runs the target once more when they differ."""
    position = next((i for i, (a, b) in enumerate(zip(tokens, expected, strict=False)) if a != b), None)
    if position is None:
        if len(tokens) == len(expected):
            return Audit("identical")
        return Audit("divergent", min(len(tokens), len(expected)))  # one text ends where the other goes on
    gap = _gap(
        tokens[position], expected[position], [*prompt, *expected[:position]], target, dtype, sampling, seed, vocab
    )
    outcome = "tie" if gap <= TIE_UNITS[dtype] else "divergent"
    return Audit(outcome, position, tokens[position], expected[position], gap)  # type: ignore[arg-type]


def _gap(
    token: int,
    expected: int,
    text: list[int],
    target: ModelRunner,
    dtype: torch.dtype,
    sampling: Sampling,
    seed: int,
    vocab: int,
) -> float:
    """Distance between two tokens' scores after a text, in units of rounding."""
    target.rewind(0)
    logits = target.extend(text)
    dice = dice_for(sampling, vocab, seed)
    dice.commit(text)
    scores = dice.preferences(dice.scores(logits, [[]]), [[]])[0].double()
    unit = float(logits.abs().max()) * torch.finfo(dtype).eps
    if not sampling.is_greedy:
        unit /= sampling.temperature
    return float(abs(scores[token] - scores[expected])) / unit
