"""The tensors that a checkpoint of a shape must hold. Standard library only: torch is not loaded to check a folder."""

from __future__ import annotations

from decoding.models.fast.shape import Shape


def expected_tensors(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Names and shapes that a checkpoint of this shape must hold (biases and head norms aside, which may be absent)."""
    queries, keys, hidden = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim, shape.hidden
    if shape.family == "gpt2":
        found = {
            "wte.weight": (shape.vocab_size, hidden),
            "wpe.weight": (shape.context, hidden),
            "ln_f.weight": (hidden,),
        }
        for i in range(shape.layers):
            found |= {
                f"h.{i}.ln_1.weight": (hidden,),
                f"h.{i}.attn.c_attn.weight": (hidden, 3 * hidden),
                f"h.{i}.attn.c_proj.weight": (hidden, hidden),
                f"h.{i}.ln_2.weight": (hidden,),
                f"h.{i}.mlp.c_fc.weight": (hidden, shape.inner),
                f"h.{i}.mlp.c_proj.weight": (shape.inner, hidden),
            }
        return found
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
