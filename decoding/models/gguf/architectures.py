"""The llama.cpp architecture that computes what our decoder computes, and a refusal where none does.

Standard library only: a model is refused before torch is loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decoding.errors import BadExport
from decoding.models.fast.shape import Shape
from decoding.models.folder import ModelFolder

ARCHITECTURES = {"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3"}
ACTIVATIONS = ("silu", "swish")


def architecture_of(folder: ModelFolder) -> str:
    """Name the architecture that runs this model exactly. Refuse a model that none runs."""
    shape = folder.shape
    if shape is None or shape.family not in ARCHITECTURES:
        raise BadExport(
            f"{folder.path} is of the family {folder.family!r:.40}, as it is configured, and only "
            f"{', '.join(ARCHITECTURES)}, as far as Drafthouse's own decoder runs them, can be written as GGUF. "
            "Use llama.cpp's convert_hf_to_gguf.py."
        )
    architecture = ARCHITECTURES[shape.family]
    if reason := _difference(shape, architecture, folder.context or shape.context):
        raise BadExport(f"{folder.path} {reason}, which llama.cpp's architecture {architecture} does not do.")
    return architecture


def _difference(shape: Shape, architecture: str, context: int) -> str | None:
    """Say what the model does and the architecture does not."""
    rope = shape.rope or {}
    if any(window is not None and window < context for window in shape.windows):
        return f"looks back {min(filter(None, shape.windows)):,} tokens in some layers"
    if shape.activation not in ACTIVATIONS:
        return f"has the activation {shape.activation}"
    if architecture == "qwen2" and shape.heads * shape.head_dim != shape.hidden:
        return "has heads that together are not as wide as its layers"
    if rope.get("rope_type") == "llama3" and architecture != "llama":
        return "has rotary positions of the kind llama3"
    if rope.get("rope_type") == "yarn" and not _is_usual_yarn(rope):
        return "has YaRN positions with another beta_fast or beta_slow than usual"
    return None


def _is_usual_yarn(rope: Mapping[str, Any]) -> bool:
    return (rope.get("beta_fast") or 32, rope.get("beta_slow") or 1) == (32, 1)
