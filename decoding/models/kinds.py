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
HEADS = {  # by a part of the architecture's name
    "eagle3": "EAGLE-3", "eagle": "EAGLE", "medusa": "Medusa", "dflash": "DFlash", "dspark": "DSpark", "hydra": "Hydra",
    "mlpspeculator": "MLP speculator", "mtpmodel": "MTP",
}  # fmt: skip
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
    if head := _head(config):
        return (
            f"is a draft head ({head}), which reads states of its target and cannot run alone",
            "Start its target with it as a server, such as vLLM, and compare that server. Or take a draft model.",
        )
    return None


def _head(config: Mapping[str, Any]) -> str:
    told = [config.get("speculators_model_type"), *_texts(config.get("architectures"))]
    plain = [re.sub(r"[^a-z0-9]", "", str(name).lower()) for name in told if name]
    found = next((title for part, title in HEADS.items() if any(part in name for name in plain)), "")
    return found or ("speculators" if "speculators_config" in config else "")


def _texts(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


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
