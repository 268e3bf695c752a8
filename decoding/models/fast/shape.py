"""The shape of a model for our decoder, read from a config.json. Standard library only: the web asks as well.

`shape_of` answers None for whatever this decoder does not do exactly; such a model is run by transformers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Config = Mapping[str, Any]
ROPES = ("default", "linear", "dynamic", "llama3", "yarn")
ROPE_NEEDS = {
    "linear": frozenset({"factor"}),
    "llama3": frozenset({"factor", "low_freq_factor", "high_freq_factor"}),
    "yarn": frozenset({"factor"}),
}
FAMILIES = ("llama", "mistral", "qwen2", "qwen3")


@dataclass(frozen=True)
class Shape:
    family: str
    vocab_size: int
    context: int
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    inner: int  # width of the feed-forward part
    norm_eps: float
    tied: bool  # the output layer is the embedding
    rope: Mapping[str, Any]

    @property
    def group(self) -> int:
        """The number of query heads that share one key head."""
        return self.heads // self.kv_heads

    @property
    def kv_values_per_token(self) -> int:
        return self.layers * 2 * self.kv_heads * self.head_dim


def shape_of(config: Config) -> Shape | None:
    """The shape of a model that the fast decoder runs exactly, or None."""
    if config.get("model_type") not in FAMILIES or config.get("quantization_config"):
        return None
    try:
        shape = _read(config)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None  # transformers says what is wrong with such a config
    is_whole = shape.heads % shape.kv_heads == 0 and shape.head_dim % 2 == 0
    return shape if is_whole and shape.rope["rope_type"] in ROPES else None


def _read(config: Config) -> Shape:
    heads = int(config["num_attention_heads"])
    hidden, context = int(config["hidden_size"]), int(config["max_position_embeddings"])
    family = str(config["model_type"])
    if (window := _window(family, config)) and int(window) < context:
        raise ValueError("only attention to the whole text")
    if config.get("hidden_act", "silu") not in ("silu", "swish"):
        raise ValueError("only SiLU")
    return Shape(
        family=family,
        vocab_size=int(config["vocab_size"]),
        context=context,
        layers=int(config["num_hidden_layers"]),
        hidden=hidden,
        heads=heads,
        kv_heads=int(config.get("num_key_value_heads") or heads),
        head_dim=int(config.get("head_dim") or (128 if family == "qwen3" else hidden // heads)),
        inner=int(config["intermediate_size"]),
        norm_eps=float(config.get("rms_norm_eps", 1e-6)),
        tied=bool(config.get("tie_word_embeddings", False)),
        rope=_rope(config),
    )


def _rope(config: Config) -> Mapping[str, Any]:
    """Rope parameters in the spelling of transformers 5, whichever way the file spells them."""
    rope = dict(config.get("rope_parameters") or config.get("rope_scaling") or {})
    rope["rope_type"] = rope.get("rope_type") or rope.get("type") or "default"
    rope["rope_theta"] = float(rope.get("rope_theta") or config.get("rope_theta") or 10000.0)
    if not rope.keys() >= ROPE_NEEDS.get(rope["rope_type"], frozenset()):
        raise ValueError("a factor is missing")
    if rope["rope_type"] in ("llama3", "yarn"):
        rope.setdefault("original_max_position_embeddings", config["max_position_embeddings"])
        if config.get("original_max_position_embeddings"):
            rope["original_max_position_embeddings"] = config["original_max_position_embeddings"]
    if rope.get("mscale") or not rope.get("truncate", True):
        raise ValueError("only YaRN as it was published")
    partial = rope.get("partial_rotary_factor") or config.get("partial_rotary_factor") or 1.0
    if partial != 1.0:
        raise ValueError("only whole heads are turned")
    return rope


def _window(family: str, config: Config) -> Any:
    """How many tokens some layers look back; nothing if all see the whole text."""
    if family == "mistral":
        return config.get("sliding_window", 4096)
    return config.get("sliding_window") if family != "llama" and config.get("use_sliding_window") else None


def expected_tensors(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Names and shapes that a checkpoint of this shape must hold (biases and head norms aside, which may be absent)."""
    queries, keys, hidden = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim, shape.hidden
    found = {"model.embed_tokens.weight": (shape.vocab_size, hidden), "model.norm.weight": (hidden,)}
    if not shape.tied:
        found["lm_head.weight"] = (shape.vocab_size, hidden)
    for i in range(shape.layers):
        at = f"model.layers.{i}."
        found |= {
            at + "input_layernorm.weight": (hidden,),
            at + "self_attn.q_proj.weight": (queries, hidden),
            at + "self_attn.k_proj.weight": (keys, hidden),
            at + "self_attn.v_proj.weight": (keys, hidden),
            at + "self_attn.o_proj.weight": (hidden, queries),
            at + "post_attention_layernorm.weight": (hidden,),
            at + "mlp.gate_proj.weight": (shape.inner, hidden),
            at + "mlp.up_proj.weight": (shape.inner, hidden),
            at + "mlp.down_proj.weight": (hidden, shape.inner),
        }
    return found
