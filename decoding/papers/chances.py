"""Make `Outcomes` of a recorded text: one pass of each model along it. Loads torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from decoding.dice.dice import dice_for
from decoding.dice.sampling import Sampling
from decoding.models.runner import ModelRunner, read_prompt
from decoding.papers.outcomes import Outcomes


@torch.inference_mode()
def outcomes_of(
    target: ModelRunner,
    draft: ModelRunner,
    tokens: Sequence[int],
    text: Sequence[int],
    sampling: Sampling,
    constants: Sequence[float] = (1.0,),
    branches: int = 1,
) -> Mapping[float, Outcomes]:
    """Outcomes by Saguaro sampling's constant, for the text that the target wrote after `tokens`. With a constant below
    1 the draft's `branches` + 1 likeliest tokens are held back by it: one more than get a branch, because the drafted
    token needs none."""
    written, vocab = torch.tensor(text), min(target.vocab_size, draft.vocab_size)
    p, q = (_scores(model, tokens, text, vocab, sampling) for model in (target, draft))
    ranks = (q > q.gather(1, written[:, None])).sum(1)
    return {constant: _outcomes(p, q, written, ranks, sampling, constant, branches) for constant in constants}


def _scores(model: ModelRunner, tokens: Sequence[int], text: Sequence[int], vocab: int, sampling: Sampling) -> Tensor:
    """Scores at each position of the text, with penalty and temperature: [N, V], on the host."""
    dice = dice_for(sampling, vocab, 0)
    dice.commit(tokens)
    read_prompt(model, tokens)
    logits = model.extend([*tokens[-1:], *text[:-1]], need=len(text))
    return dice.scores(logits, [text[:i] for i in range(len(text))]).float().cpu()


def _outcomes(
    p: Tensor, q: Tensor, written: Tensor, ranks: Tensor, sampling: Sampling, constant: float, branches: int
) -> Outcomes:
    if sampling.is_greedy:
        accepted = q.argmax(1) == written
        return Outcomes(accepted.double().tolist(), ranks.tolist(), [1.0] * len(written))
    target, draft = torch.softmax(p.double(), 1), held_back(q, constant, branches)
    at = written[:, None]
    accepts = (draft.gather(1, at) / target.gather(1, at)).clamp(max=1.0)[:, 0]
    refused = (draft - target).clamp(min=0.0)  # what the drafted token is, if it is refused
    above = (refused * (q > q.gather(1, at))).sum(1) / refused.sum(1).clamp(min=1e-12)
    return Outcomes(accepts.tolist(), ranks.tolist(), above.tolist())


def held_back(scores: Tensor, constant: float, branches: int) -> Tensor:
    """Probabilities of Saguaro sampling: the likeliest tokens' times the constant, then scaled to a sum of 1."""
    weights = torch.softmax(scores.double(), 1)
    most = min(branches + 1, weights.shape[1])
    weights.scatter_(1, scores.topk(most, 1).indices, constant, reduce="multiply")
    return weights / weights.sum(1, keepdim=True)
