"""Sizes of the pairs that `bench gpu` makes. Standard library only, so that its --help needs nothing more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LLAMA = {"model_type": "llama", "tie_word_embeddings": False, "rms_norm_eps": 1e-5, "max_position_embeddings": 4096}


@dataclass(frozen=True)
class PairShape:
    """Sizes of a target, how many of its first layers are the draft, and whether transformers runs too."""

    sizes: dict[str, int]
    draft_layers: int
    has_peer: bool

    @property
    def config(self) -> dict[str, Any]:
        return LLAMA | self.sizes


PAIRS = {
    "1B": PairShape(
        {
            "vocab_size": 128256,
            "hidden_size": 2048,
            "intermediate_size": 8192,
            "num_hidden_layers": 16,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
        },
        draft_layers=2,
        has_peer=True,
    ),
    "8B": PairShape(
        {
            "vocab_size": 128256,
            "hidden_size": 4096,
            "intermediate_size": 14336,
            "num_hidden_layers": 32,
            "num_attention_heads": 32,
            "num_key_value_heads": 8,
        },
        draft_layers=2,
        has_peer=False,
    ),
}
