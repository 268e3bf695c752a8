"""Audit of a text against the target's. Where the two first differ, is that rounding or a real difference?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import torch

from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.measure.sample import Audit, Outcome, SampleResult
from decoding.models.runner import ModelRunner

# Largest distance between two scores for which their order may be due to rounding, in units of the number format's
# rounding at the size of the row's largest logit. A pass over several rows adds products in another order than a pass
# over one row; float32 keeps that error in all its sums, the short formats only where they round.
TIE_UNITS = {torch.float64: 64.0, torch.float32: 64.0, torch.bfloat16: 8.0, torch.float16: 8.0}

Decode = Callable[[Sequence[int]], str]
Encode = Callable[[str], list[int]]


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
    server_dtype: str = "",
    unsent: Collection[int] = (),
) -> Audit:
    """Compare a strategy's tokens with autoregressive's. Runs the target once more when they differ. If a server wrote
    them, the coarser of both number formats tells what rounding can decide. `unsent`: the end tokens, if it chose one
    of them behind its text and did not send it."""
    pairs = zip(tokens, expected, strict=False)
    position = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(tokens), len(expected)))
    if position == len(tokens) == len(expected):
        return Audit("identical")
    chosen = [token for token in tokens[position : position + 1] or unsent if token < vocab]  # a server may send any
    if position == len(expected) or not chosen:  # one text ends where the other goes on
        return Audit("divergent", position, next(iter(tokens[position:]), None))
    # By the largest distance that may be rounding, as a share of the row's largest logit.
    dtypes = [dtype, getattr(torch, server_dtype) if server_dtype else dtype]
    coarser = max(dtypes, key=lambda one: TIE_UNITS[one] * torch.finfo(one).eps)
    text = [*prompt, *expected[:position]]
    token, gap = _nearest(chosen, expected[position], text, target, coarser, sampling, seed, vocab)
    outcome: Outcome = "tie" if gap <= TIE_UNITS[coarser] else "divergent"
    return Audit(outcome, position, token, expected[position], gap, server_dtype if coarser != dtype else "")


def alike(sample: SampleResult, other: SampleResult) -> Audit:
    """Compare two texts where no target is here: it alone could tell a tie from a real difference."""
    is_same = sample.tokens == other.tokens if sample.tokens and other.tokens else sample.text == other.text
    return Audit("identical" if is_same else "not_compared")


def respelled(text: str, expected: Sequence[int], decode: Decode, encode: Encode) -> list[int]:
    """Cut a server's text into the expected tokens as far as they write it: a text can be cut in several ways."""
    for same in range(len(expected), 0, -1):
        written = decode(expected[:same])
        if text.startswith(written):
            rest = text[len(written) :]
            return [*expected[:same], *(encode(rest) if rest else [])]
    return encode(text)


def with_end(tokens: Sequence[int], expected: Sequence[int], ends: Collection[int]) -> list[int]:
    """Add the end token that a server leaves out of a text that it ended there."""
    left = expected[len(tokens) :]
    is_all_but_end = list(tokens) == list(expected[: len(tokens)]) and len(left) == 1 and left[0] in ends
    return [*tokens, *left] if is_all_but_end else list(tokens)


def _nearest(
    tokens: Sequence[int],
    expected: int,
    text: list[int],
    target: ModelRunner,
    dtype: torch.dtype,
    sampling: Sampling,
    seed: int,
    vocab: int,
) -> tuple[int, float]:
    """Return the likeliest of the tokens after a text, and the distance of its score from the expected token's, in
    units of rounding."""
    target.rewind(0)
    logits = target.extend(text)
    dice = dice_for(sampling, vocab, seed)
    dice.commit(text)
    scores = dice.preferences(dice.scores(logits, [[]]), [[]])[0].double()
    unit = float(logits.abs().max()) * torch.finfo(dtype).eps
    if not sampling.is_greedy:
        unit /= sampling.temperature
    token = max(tokens, key=lambda one: float(scores[one]))
    return token, float(abs(scores[token] - scores[expected])) / unit
