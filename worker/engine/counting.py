"""How long prompts are, as the target reads them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

from decoding.checkpoints import Tokenizer, tokenizer_of
from decoding.model_folder import inspect
from worker.messages import Counted, CountTokens, Report


def count(order: CountTokens, say: Callable[[Report], None]) -> None:
    tokenizer = _tokenizer(order.target)
    contexts = (inspect(order.target).context, inspect(order.draft).context)
    say(Counted(tuple(len(tokenizer.encode(text)) for text in order.texts), contexts))


@functools.lru_cache(maxsize=1)
def _tokenizer(folder: Path) -> Tokenizer:
    """The prompts of a set come in several orders."""
    return tokenizer_of(inspect(folder))
