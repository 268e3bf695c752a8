"""Answers of a server that runs the same weights as a folder here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.parts.servers.formats import Decode
from tests.parts.servers.stage import in_steps

StepsFor = Callable[[Any, int], list[list[int]]]


def greedy_steps(folder: Path) -> StepsFor:
    """Greedy texts of the model, in the steps of a speculating server."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)

    def steps(prompt: Any, room: int) -> list[list[int]]:
        ids = tokenizer(prompt)["input_ids"] if isinstance(prompt, str) else prompt
        made = model.generate(torch.tensor([ids]), max_new_tokens=room, do_sample=False, eos_token_id=None)
        return in_steps(made[0, len(ids) :].tolist())

    return steps


def streamed_words(folder: Path) -> Decode:
    """Decode as a server that streams: each token is a word with the space before it."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    return lambda tokens: "".join(f" {tokenizer.decode([token])}" for token in tokens)
