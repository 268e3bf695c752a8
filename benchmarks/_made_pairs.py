"""Untrained pairs for measuring speed: random weights of real sizes."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from benchmarks._pair_shapes import PairShape
from decoding.models.fast.runner import FastModel, FastRunner
from decoding.models.fast.shape import shape_of
from decoding.models.fast.weights import weights_of

AGREEMENT = 0.75  # how often draft and target have the same most likely token on random text


@torch.inference_mode()
def models(shape: PairShape, device: torch.device, dtype: torch.dtype) -> tuple[Any, Any]:
    """Make a target and the draft inside it, which agree about as often as AGREEMENT."""
    torch.manual_seed(0)
    target, draft = (_model(shape.config | layers, device, dtype) for layers in ({}, layers(shape.draft_layers)))
    _share(target, draft)
    late = target.model.layers[shape.draft_layers :]
    words = torch.randint(0, shape.config["vocab_size"], (1, 256), device=device)
    drafted = draft(words).logits.argmax(-1)
    low, high = 0.0, 1.0
    scale = 1.0  # scale of the late layers' output so far
    for _ in range(12):
        middle = (low + high) / 2
        for layer in late:
            layer.self_attn.o_proj.weight.mul_(middle / scale)
            layer.mlp.down_proj.weight.mul_(middle / scale)
        scale = middle
        agreement = (target(words).logits.argmax(-1) == drafted).float().mean()
        low, high = (middle, high) if agreement > AGREEMENT else (low, middle)
    return target, draft


def layers(count: int) -> dict[str, int]:
    return {"num_hidden_layers": count}


def _model(config: dict[str, Any], device: torch.device, dtype: torch.dtype) -> Any:
    fields = {key: value for key, value in config.items() if key != "model_type"}
    with device:
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(config["model_type"], **fields), dtype=dtype)
    return model.to(device).eval()


def _share(target: Any, draft: Any) -> None:
    """Let the draft's parameters be the target's own, without a second copy."""
    draft.model.embed_tokens, draft.model.norm, draft.lm_head = (
        target.model.embed_tokens,
        target.model.norm,
        target.lm_head,
    )
    for number in range(len(draft.model.layers)):
        draft.model.layers[number] = target.model.layers[number]


def runner_of(model: Any, config: dict[str, Any], context: int, dtype: str, static: bool | None = None) -> FastRunner:
    shape = shape_of(config)
    assert shape is not None
    weights = weights_of(shape, model.state_dict())
    return FastModel(shape, weights, dtype=dtype, context=context, device=model.device, static=static).new_runner()


def bytes_per_pass(model: Any) -> int:
    """Bytes that one pass must read: every weight but the embedding, which gives one row."""
    read = [weight for name, weight in model.named_parameters() if "embed_tokens" not in name]
    return sum(weight.numel() * weight.element_size() for weight in read)
