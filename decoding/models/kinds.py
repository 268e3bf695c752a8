"""Folders that hold something else than a whole, plain language model: what it is, and the way out.

Standard library only: the web refuses uploads with it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from decoding.models.config_bounds import text_part

ADAPTER, PIPELINE = "adapter_config.json", "model_index.json"
DEQUANTISED = "mxfp4"  # the format, as config.json names it, whose numbers transformers runs exactly
HEADS = re.compile("eagle|medusa|dflash|dspark|hydra|mlpspeculator|mtpmodel")  # in the names of architectures
FLOATS_OF_8_BITS = re.compile(r"F8_|F4|F6")


def other_kind(names: Collection[str], config: Mapping[str, Any]) -> tuple[str, str] | None:
    """Say what a folder with these files and this config is, and what to do, if it is no model of its own."""
    if ADAPTER in names and not any(name.startswith("model") and name.endswith(".safetensors") for name in names):
        return (
            "is an adapter (LoRA or another of PEFT's), not a model",
            "Merge it: load it with peft.AutoPeftModelForCausalLM, call merge_and_unload and save_pretrained, and "
            "save the tokenizer beside it. Or start a server with the adapter and compare that.",
        )
    if PIPELINE in names:
        return "is a pipeline of diffusers, which continues no text", "Choose a language model (…ForCausalLM)."
    if _is_head(config):
        return (
            "is a draft head, which reads states of its target and cannot run alone",
            "Start its target with it as a server, such as vLLM, and compare that server. Or take a draft model.",
        )
    return None


def _is_head(config: Mapping[str, Any]) -> bool:
    architectures = re.sub(r"[^a-z0-9]", "", str(config.get("architectures")).lower())
    return "speculators_config" in config or HEADS.search(architectures) is not None


def quantization_of(config: Mapping[str, Any], names: Collection[str], dtypes: Iterable[str]) -> str:
    """Name the quantised format of weights that no decoder here runs; empty if there is none."""
    told = config.get("quantization_config") or text_part(config).get("quantization_config")
    if isinstance(told, Mapping):
        if told.get("load_in_4bit") or told.get("load_in_8bit"):
            return "bitsandbytes"
        method = str(told.get("quant_method", "of an unnamed kind"))[:40]
        return "" if method == DEQUANTISED else method
    if config.get("compression_config"):
        return "compressed-tensors"
    mlx = config.get("quantization")
    if isinstance(mlx, Mapping) and "bits" in mlx:
        return "MLX"
    if "hf_quant_config.json" in names:
        return "ModelOpt"
    return "FP8" if any(FLOATS_OF_8_BITS.match(dtype) for dtype in dtypes) else ""
