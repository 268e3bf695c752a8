"""SmolLM2-135M-Instruct from the GGUF file that `./drafthouse models get smollm2` fetches; skipped without it. Its
draft is SmolLM2 without six layers of the middle, which agrees with it on 3 to 6 of 10 tokens."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from decoding.models.checkpoints import load
from decoding.models.gguf.reading import write_folder
from tests.kit.smollm2 import CHATS, FILE, needed, write_chats
from worker.terminal.compare import main as compare

LEFT_OUT = range(12, 18)  # layers that the draft lacks

pytestmark = [pytest.mark.real, pytest.mark.slow, needed]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model as `target`, its cut as `draft`, and the chats."""
    folder = tmp_path_factory.mktemp("smollm2")
    (folder / "target").mkdir()
    write_folder(FILE, folder / "target")
    shutil.copytree(folder / "target", folder / "draft", ignore=shutil.ignore_patterns("gguf.json", "*.safetensors"))
    _cut(folder)
    write_chats(folder / "chats.jsonl")
    return folder


def _cut(folder: Path) -> None:
    config = json.loads((folder / "target" / "config.json").read_text())
    stay = [layer for layer in range(config["num_hidden_layers"]) if layer not in LEFT_OUT]
    weights = {}
    for name, weight in load_file(folder / "target" / "model.safetensors").items():
        layer = re.match(r"model\.layers\.(\d+)\.", name)
        if layer is None:
            weights[name] = weight
        elif int(layer[1]) in stay:
            weights[name.replace(layer[0], f"model.layers.{stay.index(int(layer[1]))}.")] = weight
    save_file(weights, folder / "draft" / "model.safetensors")
    (folder / "draft" / "config.json").write_text(json.dumps(config | {"num_hidden_layers": len(stay)}))


@pytest.fixture(scope="module")
def texts(box: Path) -> dict[str, list[int]]:
    """The greedy token ids of transformers for each chat."""
    tokenizer = AutoTokenizer.from_pretrained(box / "target")
    model = AutoModelForCausalLM.from_pretrained(box / "target", dtype=torch.float32)
    found = {}
    for name, chat in CHATS.items():
        read = tokenizer(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)).input_ids
        with torch.no_grad():
            wrote = model.generate(torch.tensor([read]), max_new_tokens=24, do_sample=False)
        found[name] = wrote[0, len(read) :].tolist()
    return found


def compared(box: Path, *more: str, target: str = "target") -> dict[str, Any]:
    asked = ["--target", str(box / target), "--prompts", str(box / "chats.jsonl"), "--threads", "1"]
    assert compare([*asked, "--max-new-tokens", "24", "--temperature", "0", "--json", str(box / "r.json"), *more]) == 0
    document: dict[str, Any] = json.loads((box / "r.json").read_text())
    return document


def tokens(row: dict[str, Any]) -> dict[str, list[int]]:
    return {sample["prompt"]: sample["tokens"] for sample in row["samples"]}


def test_every_strategy_writes_the_text_of_transformers(box: Path, texts: dict[str, list[int]]) -> None:
    told = "autoregressive,static:2,tree,lookup,suffix,ssd:2"
    rows = compared(box, "--draft", str(box / "draft"), "--strategies", told)["strategies"]
    assert [row["strategy"] for row in rows] == ["autoregressive", "static", "tree", "lookup", "suffix", "ssd"]
    for row in rows:
        assert tokens(row) == texts, row["label"]
    accepted = {row["strategy"]: row["draft_acceptance_rate"] for row in rows[1:]}
    assert accepted["static"] > 0.2 and min(accepted.values()) > 0


def test_four_users_at_once_get_the_texts_of_one(box: Path, texts: dict[str, list[int]]) -> None:
    """The target is the file itself."""
    (box / "file.gguf").symlink_to(FILE)
    found = compared(box, "--strategies", "lookup", "--concurrency", "4", target="file.gguf")
    assert all(tokens(row) == texts for row in found["strategies"])
    assert "Paris" in load(box / "target").tokenizer.decode(texts["paris"])
