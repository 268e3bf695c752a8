"""Drafts with another tokenizer: the starter draft with other ids and fewer tokens."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

STARTER = Path(__file__).resolve().parents[2] / "starter" / "pair"


def foreign_draft(folder: Path, kept: int, source: Path = STARTER / "draft") -> Path:
    """Save a copy of a byte-level draft that has only `kept` tokens, in another order: nearly no id means the same."""
    shutil.copytree(source, folder)
    whole = json.loads((folder / "tokenizer.json").read_text())
    order = _reorder(whole, kept)
    (folder / "tokenizer.json").write_text(json.dumps(whole))
    weights = load_file(folder / "model.safetensors")
    vocab = len(json.loads((source / "tokenizer.json").read_text())["model"]["vocab"])
    rows = torch.tensor(order)
    cut = {name: (w[rows].contiguous() if w.shape[0] == vocab else w) for name, w in weights.items()}
    save_file(cut, folder / "model.safetensors", {"format": "pt"})
    _renumber(folder, order)
    return folder


def _reorder(whole: dict[str, Any], kept: int) -> list[int]:
    """Keep the first tokens. Return the old id of each new one."""
    model = whole["model"]
    by_id = sorted(model["vocab"].items(), key=lambda item: item[1])[:kept]
    names = {token for token, _ in by_id}
    pairs = [tuple(merge.split(" ")) if isinstance(merge, str) else tuple(merge) for merge in model["merges"]]
    model["merges"] = [[a, b] for a, b in pairs if a in names and b in names and a + b in names]
    random.Random(5).shuffle(by_id)
    model["vocab"] = {token: number for number, (token, _) in enumerate(by_id)}
    for token in whole["added_tokens"]:
        token["id"] = model["vocab"][token["content"]]
    return [old for _, old in by_id]


def _renumber(folder: Path, order: list[int]) -> None:
    new = {old: number for number, old in enumerate(order)}
    for name in ("config.json", "generation_config.json"):
        config = json.loads((folder / name).read_text())
        for key in ("eos_token_id", "bos_token_id", "pad_token_id"):
            if isinstance(config.get(key), int):
                config[key] = new[config[key]]
        if "vocab_size" in config:
            config["vocab_size"] = len(order)
        (folder / name).write_text(json.dumps(config))
