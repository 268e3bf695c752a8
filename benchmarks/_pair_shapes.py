"""Sizes of the pairs that `bench gpu` and `bench card` make. Standard library only, as their --help needs."""

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

    @property
    def bytes(self) -> int:
        """Bytes of the target's weights in bfloat16."""
        s = self.sizes
        attention = 2 * s["hidden_size"] ** 2 * (s["num_attention_heads"] + s["num_key_value_heads"])
        layer = attention // s["num_attention_heads"] + 3 * s["hidden_size"] * s["intermediate_size"]
        return 2 * (s["num_hidden_layers"] * layer + 2 * s["vocab_size"] * s["hidden_size"])


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
    "32B": PairShape(
        {
            "vocab_size": 151936,
            "hidden_size": 5120,
            "intermediate_size": 27648,
            "num_hidden_layers": 64,
            "num_attention_heads": 40,
            "num_key_value_heads": 8,
        },
        draft_layers=3,
        has_peer=False,
    ),
    "tiny": PairShape(
        {
            "vocab_size": 211,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
        },
        draft_layers=1,
        has_peer=True,
    ),
}
