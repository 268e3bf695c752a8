"""Texts that a model writes, a whole batch side by side."""

from collections.abc import Callable

import torch
from torch import Tensor
from transformers import DynamicCache, LlamaForCausalLM

Choose = Callable[[int, Tensor, Tensor], Tensor]  # (position, logits [rows, V], text so far [rows, n]) to ids [rows]


@torch.no_grad()
def write(model: LlamaForCausalLM, prompts: list[list[int]], new_tokens: int, choose: Choose) -> list[list[int]]:
    """Continue all prompts side by side, each by `new_tokens`. The ends of longer prompts are fed as if chosen.

    So there is no padding, which the models never saw.
    """
    lengths = [len(prompt) for prompt in prompts]
    width = max(lengths) + new_tokens
    given = torch.zeros(len(prompts), width, dtype=torch.int64)
    for row, prompt in enumerate(prompts):
        given[row, : len(prompt)] = torch.tensor(prompt)
    text = given[:, : min(lengths)].to(model.device)
    given = given.to(model.device)
    is_given = torch.arange(width) < torch.tensor(lengths)[:, None]
    cache = DynamicCache()
    fresh = text
    while text.size(1) < width:
        position = text.size(1)
        with torch.autocast(model.device.type, torch.bfloat16):
            logits = model(input_ids=fresh, past_key_values=cache, logits_to_keep=1).logits[:, -1].float()
        chosen = choose(position, logits, text)
        fresh = torch.where(is_given[:, position].to(text.device), given[:, position], chosen)[:, None]
        text = torch.cat([text, fresh], dim=1)
    rows = text.tolist()
    return [row[length : length + new_tokens] for row, length in zip(rows, lengths, strict=True)]


def sampler(temperature: float, seed: int, penalty: float = 1.0) -> Choose:
    """Choose as the engine's `shared` dice do: scores plus Gumbel noise from seed and position; temperature 0 is
    greedy."""

    def choose(position: int, logits: Tensor, text: Tensor) -> Tensor:
        scores = penalised(logits, text, penalty)
        if temperature == 0.0:
            return scores.argmax(-1)
        return (scores / temperature + gumbel(scores.shape, seed, position).to(scores.device)).argmax(-1)

    return choose


def penalised(logits: Tensor, text: Tensor, penalty: float) -> Tensor:
    """Make every token that is already in the text less likely, as `repetition_penalty` does in other libraries."""
    if penalty == 1.0:
        return logits
    held = logits.gather(1, text)
    return logits.scatter(1, text, torch.where(held > 0, held / penalty, held * penalty))


def gumbel(shape: torch.Size, seed: int, position: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed * 1_000_003 + position)  # only its low 32 bits count
    return -torch.empty(shape).exponential_(generator=generator).log()
