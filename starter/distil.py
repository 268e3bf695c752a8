"""Distillation: the draft learns the target's distributions, on the corpus and on text that the target writes.

In use a draft continues the target's text, not the corpus's, so it must have seen such text.
"""

from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from transformers import LlamaForCausalLM

from starter.loop import Batches, Windows
from starter.text import sampler, write

# Temperature and repetition penalty, in turn: usual settings. Greedy texts without a penalty would be loops.
SAMPLINGS = ((0.6, 1.1), (0.8, 1.0), (1.0, 1.0), (0.0, 1.1))
OPENING = 32  # tokens of corpus before the target's own
LENGTH = 256  # tokens of a text, with its opening
ROWS = 96


def own_texts(
    target: LlamaForCausalLM, corpus: np.ndarray, tokens: int, seed: int, say: Callable[[str], None]
) -> np.ndarray:
    """Let the target continue openings from the corpus until that many tokens are written."""
    openings = Windows(corpus, seed=seed + 1)
    written: list[list[int]] = []
    while len(written) * LENGTH < tokens:
        batch = len(written) // ROWS
        prompts = openings.batch(batch, ROWS, OPENING)[:, :OPENING].tolist()
        temperature, penalty = SAMPLINGS[batch % len(SAMPLINGS)]
        choose = sampler(temperature, batch, penalty)
        texts = write(target, prompts, LENGTH - OPENING, choose)
        written += [[0, *prompt, *text] for prompt, text in zip(prompts, texts, strict=True)]
        say(f"the target has written {len(written) * LENGTH:,} of {tokens:,} tokens")
    return np.array(written, dtype=np.uint16).reshape(-1)


class Turns:
    """Batches from several sources in turn."""

    def __init__(self, *sources: Batches):
        self.sources = sources

    def batch(self, step: int, rows: int, length: int) -> Tensor:
        turn, source = divmod(step, len(self.sources))
        return self.sources[source].batch(turn, rows, length)


def divergence(target: LlamaForCausalLM, draft: LlamaForCausalLM, batch: Tensor) -> Tensor:
    """Kullback-Leibler divergence of the draft's next-token distributions from the target's, per token."""
    with torch.autocast(batch.device.type, torch.bfloat16):
        with torch.no_grad():
            wanted = target(input_ids=batch[:, :-1], use_cache=False).logits
        logits = draft(input_ids=batch[:, :-1], use_cache=False).logits
    wanted, logits = wanted.flatten(0, 1).float(), logits.flatten(0, 1).float()
    return F.kl_div(F.log_softmax(logits, -1), F.log_softmax(wanted, -1), log_target=True, reduction="batchmean")
