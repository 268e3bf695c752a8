"""config.json of the model in a GGUF file, and its tensors' names there. Standard library only."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from decoding.errors import BadCheckpoint
from decoding.models.gguf.header import GgufHeader, GgufTensor

FAMILIES = {
    "llama": ("llama", "LlamaForCausalLM"),
    "qwen2": ("qwen2", "Qwen2ForCausalLM"),
    "qwen3": ("qwen3", "Qwen3ForCausalLM"),
    "gemma3": ("gemma3_text", "Gemma3ForCausalLM"),
}
ROPE_DIVISORS = "rope_freqs.weight"  # of Llama 3's positions
OUTSIDE = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}
INSIDE = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip
HEAD_NORMS = {"attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm"}
MORE_INSIDE = {
    "qwen3": HEAD_NORMS,
    "gemma3": HEAD_NORMS
    | {
        "ffn_norm": "pre_feedforward_layernorm",
        "post_attention_norm": "post_attention_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
    },
}
UNKNOWN_HERE = ("expert_count", "attention.scale", "logit_scale", "residual_scale", "embedding_scale",
                "attn_logit_softcapping", "final_logit_softcapping")  # fmt: skip
LLAMA3 = {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
GEMMA_PERIOD = 6  # the last of so many layers looks at the whole text
GEMMA_27B = 62  # layers of the one Gemma 3 that scales attention by its width
MOST_LAYERS = 10_000


def names_of(header: GgufHeader) -> dict[str, str]:
    """Map each tensor of the file to its name in the checkpoint. Refuse a family that is not read, or a tensor that
    has no place in it."""
    if header.architecture not in FAMILIES:
        raise BadCheckpoint(
            f"{header.name} holds a model of the architecture {header.architecture!r:.40}, and Drafthouse reads GGUF "
            f"of {', '.join(FAMILIES)}. {TAKE_FOLDER}"
        )
    for key in UNKNOWN_HERE:
        if header.of_model(key):
            raise BadCheckpoint(f"{header.name} sets {header.architecture}.{key}, which is not read. {TAKE_FOLDER}")
    inside = INSIDE | MORE_INSIDE.get(header.architecture, {})
    return {name: _name(header, name, inside) for name in header.tensors if name != ROPE_DIVISORS}


TAKE_FOLDER = (
    "Take the folder that the file was made from, or start the file with llama-server and compare that server."
)


def _name(header: GgufHeader, name: str, inside: Mapping[str, str]) -> str:
    stem, _, kind = name.rpartition(".")
    block = re.fullmatch(r"blk\.(0|[1-9][0-9]{0,3})\.(\w+)", stem)
    to = OUTSIDE.get(stem) if block is None else inside.get(block[2])
    if to is None or kind not in ("weight", "bias"):
        raise BadCheckpoint(f"{header.name} holds the tensor {name[:80]}, which is not read. {TAKE_FOLDER}")
    return f"{to}.{kind}" if block is None else f"model.layers.{block[1]}.{to}.{kind}"


def config_of(header: GgufHeader, divisors: Sequence[float] = ()) -> dict[str, Any]:
    """Write the config. `divisors` are the numbers of ROPE_DIVISORS, if the file has them."""
    family, class_name = FAMILIES[header.architecture]
    embedding = header.tensors.get("token_embd.weight", GgufTensor(0, (0,), 0))
    heads = _count(header, "attention.head_count")
    hidden, layers = _count(header, "embedding_length"), _count(header, "block_count", MOST_LAYERS)
    config: dict[str, Any] = {
        "architectures": [class_name],
        "model_type": family,
        "vocab_size": embedding.shape[0],
        "hidden_size": hidden,
        "intermediate_size": _count(header, "feed_forward_length"),
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": _count(header, "attention.head_count_kv", usual=heads),
        "head_dim": _count(header, "attention.key_length", usual=hidden // heads),
        "max_position_embeddings": _count(header, "context_length"),
        "rms_norm_eps": _real(header, "attention.layer_norm_rms_epsilon"),
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "attention_bias": "blk.0.attn_q.bias" in header.tensors,
        **{f"{name}_token_id": header.values.get(f"tokenizer.ggml.{name}_token_id") for name in ("bos", "eos")},
    }
    if header.architecture == "gemma3":
        return config | _gemma(header, layers, config["head_dim"], hidden // heads)
    turned = header.of_model("rope.dimension_count") or config["head_dim"]
    if turned != config["head_dim"]:
        raise BadCheckpoint(f"{header.name} turns {turned} of {config['head_dim']} dimensions. {TAKE_FOLDER}")
    more = {"mlp_bias": "blk.0.ffn_up.bias" in header.tensors} if header.architecture == "llama" else {}
    rope = _llama3(header, config["head_dim"], divisors) if divisors else _rope(header)
    return config | more | {"hidden_act": "silu", "rope_parameters": rope}


def _gemma(header: GgufHeader, layers: int, head_dim: int, width: int) -> dict[str, Any]:
    near = {"rope_type": "default", "rope_theta": _real(header, "rope.freq_base_swa", 1e4)}
    kinds = ["sliding_attention" if (i + 1) % GEMMA_PERIOD else "full_attention" for i in range(layers)]
    return {
        "hidden_activation": "gelu_pytorch_tanh",
        "query_pre_attn_scalar": width if layers == GEMMA_27B else head_dim,
        "sliding_window": _count(header, "attention.sliding_window"),
        "layer_types": kinds,
        "rope_parameters": {"full_attention": _rope(header, 1e6), "sliding_attention": near},
    }


def _rope(header: GgufHeader, usual: float = 1e4) -> dict[str, Any]:
    kind = header.of_model("rope.scaling.type") or "none"
    rope = {"rope_type": "default", "rope_theta": _real(header, "rope.freq_base", usual)}
    if kind == "none":
        return rope
    if kind not in ("linear", "yarn"):
        raise BadCheckpoint(f"{header.name} has rotary positions of the kind {kind!r:.20}. {TAKE_FOLDER}")
    rope |= {"rope_type": kind, "factor": _real(header, "rope.scaling.factor")}
    if kind == "yarn":
        rope["original_max_position_embeddings"] = _count(header, "rope.scaling.original_context_length")
        if header.of_model("rope.scaling.attn_factor") not in (None, 1.0):
            raise BadCheckpoint(f"{header.name} scales attention beside YaRN. {TAKE_FOLDER}")
    return rope


def _llama3(header: GgufHeader, head_dim: int, divisors: Sequence[float]) -> dict[str, Any]:
    """Find the settings of Llama 3's positions that give these divisors of the plain frequencies."""
    theta, factor = _real(header, "rope.freq_base", 1e4), float(divisors[-1])
    for trained in (2**power for power in range(4, 21) if all(divisor >= 1 for divisor in divisors)):
        found = [_divisor(trained * theta ** (-2 * i / head_dim), factor) for i in range(head_dim // 2)]
        if len(found) == len(divisors) and all(abs(a / b - 1) < 1e-3 for a, b in zip(found, divisors, strict=True)):
            rope = {"rope_type": "llama3", "rope_theta": theta, "factor": factor, **LLAMA3}
            return rope | {"original_max_position_embeddings": trained}
    raise BadCheckpoint(f"{header.name} divides rotary positions in a way that is not Llama 3's. {TAKE_FOLDER}")


def _divisor(radians: float, factor: float) -> float:
    """Divisor of a pair that turns by so many radians within the trained context."""
    low, high = LLAMA3["low_freq_factor"], LLAMA3["high_freq_factor"]
    blend = min(max((radians / 6.283185307179586 - low) / (high - low), 0.0), 1.0)
    return 1 / ((1 - blend) / factor + blend)


def _count(header: GgufHeader, name: str, most: int = 1 << 24, usual: int | None = None) -> int:
    found = header.of_model(name)
    found = usual if found is None else found
    if type(found) is not int or not 1 <= found <= most:
        raise BadCheckpoint(
            f"{header.name} says {header.architecture}.{name} {found!r:.40}; it must be one whole number from 1 to "
            f"{most:,}. {TAKE_FOLDER}"
        )
    return found


def _real(header: GgufHeader, name: str, usual: float | None = None) -> float:
    """Return the number that was rounded to float32: 1e-06 where the file has 9.999999974752427e-07."""
    found = header.of_model(name)
    found = usual if found is None else found
    if not isinstance(found, (int, float)):
        raise BadCheckpoint(f"{header.name} lacks the number {header.architecture}.{name}. {TAKE_FOLDER}")
    return next((short for digits in range(1, 9) if _rounds_to(short := float(f"{found:.{digits}g}"), found)), found)


def _rounds_to(short: float, found: float) -> bool:
    return bool(struct.unpack("<f", struct.pack("<f", short))[0] == found) if abs(found) < 1e38 else short == found
