"""Small random checkpoints, built with transformers' own configuration classes and saved as a user's files are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from decoding.models.fast.runner import FastModel, FastRunner
from decoding.models.fast.shape import shape_of
from decoding.models.fast.weights import TensorFiles, weights_of

LLAMA: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 128,
}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "rope_theta": 100.0, "original_max_position_embeddings": 32}


def save(
    folder: Path,
    model_type: str,
    *,
    seed: int = 0,
    dtype: torch.dtype = torch.float32,
    shard: str = "1GB",
    **config: Any,
) -> Path:
    """Save a random model and a tokenizer in `folder`. Weights are spread enough that logits differ and attention is
    not flat."""
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(model_type, **config)).to(dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.15)
            else:
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
    model.save_pretrained(folder, max_shard_size=shard)
    save_tokenizer(folder, int(model.config.get_text_config().vocab_size))
    return folder


def edit(file: Path, **values: object) -> None:
    """Change values of a JSON file."""
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def spoil(folder: Path, token: int) -> None:
    """Let a saved model answer NaN after a token, which it never writes itself."""
    weights = load_file(folder / "model.safetensors")
    weights["model.embed_tokens.weight"][token] = torch.nan
    weights["lm_head.weight"][token] = 0  # less than the likeliest of so many
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def save_tokenizer(folder: Path, size: int) -> None:
    """Save a tokenizer.json with words w0 … and an end token."""
    words = Tokenizer(WordLevel({"<end>": 0} | {f"w{i}": i for i in range(1, size)}, unk_token="<end>"))
    words.pre_tokenizer = WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>").save_pretrained(folder)


def another_order_of_words(model: Path) -> None:
    """Let two words of a saved tokenizer change places."""
    tokenizer = json.loads((model / "tokenizer.json").read_text())
    words = tokenizer["model"]["vocab"]
    words["w5"], words["w6"] = words["w6"], words["w5"]
    (model / "tokenizer.json").write_text(json.dumps(tokenizer))


def fast_runner(folder: Path, **options: Any) -> FastRunner:
    shape = shape_of(json.loads((folder / "config.json").read_text()))
    assert shape is not None
    return FastModel(
        shape, weights_of(shape, TensorFiles(sorted(folder.glob("*.safetensors")))), **options
    ).new_runner()


# Families that only transformers runs, as small as they go.
_SIZES = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
OTHERS: dict[str, dict[str, Any]] = {
    "phi": _SIZES | {"max_position_embeddings": 128},
    "falcon": _SIZES | {"max_position_embeddings": 128},
    # alternates full and sliding attention
    "gemma2": _SIZES | {"num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 128, "sliding_window": 9},
    # a recurrent state, which cannot be cut
    "mamba": {"vocab_size": 97, "hidden_size": 48, "num_hidden_layers": 2, "state_size": 8},
}
