"""The models of `bench llamacpp`: the starter pair, and random Llama shapes, each as a folder and as GGUF."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from decoding.models.folder import inspect
from decoding.models.gguf.writing import export_of, write

STARTER = Path(__file__).parents[1] / "starter"
SHAPES: dict[str, dict[str, int]] = {
    "100M": {
        "vocab_size": 32000,
        "hidden_size": 768,
        "intermediate_size": 2048,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "num_key_value_heads": 4,
    },
    "1B": {  # Llama 3.2 1B with a smaller vocabulary
        "vocab_size": 32000,
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 16,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    },
}


@dataclass(frozen=True)
class Weights:
    """One checkpoint, with a draft or alone, and the same numbers as GGUF."""

    target: Path
    draft: Path | None
    target_gguf: Path
    draft_gguf: Path | None


def weights(name: str, dtype: str, work: Path) -> Weights:
    target, draft = (STARTER / "pair" / part for part in ("target", "draft"))
    if name != "starter":
        target, draft = _made(name, dtype, work), None
    files = [_gguf(folder, dtype, work / f"{name}-{dtype}") for folder in (target, draft) if folder]
    return Weights(target, draft, files[0], files[1] if draft else None)


def _gguf(folder: Path, dtype: str, into: Path) -> Path:
    into.mkdir(parents=True, exist_ok=True)
    file = into / f"{folder.name}.gguf"
    if not file.exists():
        part = file.with_suffix(".part")
        write(export_of(folder), part, dtype)
        part.rename(file)
    return file


def _made(name: str, dtype: str, work: Path) -> Path:
    """Save random weights that the dtype holds and a narrower one does not, with the starter's tokenizer."""
    folder = work / f"{name}-{dtype}" / "target"
    if (folder / "tokenizer.json").exists():
        return folder
    torch.manual_seed(0)
    config = LlamaConfig(**SHAPES[name], tie_word_embeddings=True, max_position_embeddings=2048, eos_token_id=0)
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    model.to(getattr(torch, dtype)).to_empty(device="cpu").tie_weights()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.02) if parameter.dim() > 1 else parameter.fill_(1.0)
    model.save_pretrained(folder)
    for file in ("tokenizer_config.json", "generation_config.json", "tokenizer.json"):
        shutil.copy(STARTER / "pair" / "target" / file, folder)
    return folder


def prompts(target: Path, count: int) -> list[tuple[str, list[int]]]:
    """Texts of the code prompts' test split, with their token ids."""
    from decoding.models.checkpoints import tokenizer_of

    tokenizer = tokenizer_of(inspect(target))
    rows = [json.loads(line) for line in (STARTER / "prompts" / "code.jsonl").read_text().splitlines()]
    texts: list[Any] = [row.get("prompt") or row["text"] for row in rows if row.get("split", "test") == "test"]
    return [(text, tokenizer.encode(text)) for text in texts[:count]]
