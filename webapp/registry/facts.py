"""The known facts of a model, in words and with units, in the order in which people ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from webapp.core.templatetags.ui import count, plain, size

RUNNERS = {"fast": "our own", "transformers": "transformers", "table": "a table"}
Words = Callable[[Any], str]


def _tokens(number: Any) -> str:
    return f"{count(number)} tokens"


FACTS: dict[str, tuple[str, Words]] = {
    "architecture": ("architecture", str),
    "model_type": ("family", str),
    "parameter_count": ("parameters", count),
    "layer_count": ("layers", count),
    "hidden_size": ("width", count),
    "vocab_size": ("vocabulary", _tokens),
    "context_length": ("context", _tokens),
    "weight_bytes": ("weights", size),
    "dtypes": ("number format", plain),
    "gguf": ("dequantised from", lambda file: f"{file}; speeds are those of the dequantised weights"),
    "runner": ("decoder", lambda name: RUNNERS.get(name, str(name))),
    "end_tokens": ("end tokens", plain),
    "reads_back": ("tokenizer gives text back", plain),
}


def in_words(facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield name and text of each fact that is known."""
    for name, (words, written) in FACTS.items():
        if facts.get(name) is not None:
            yield words, written(facts[name])
