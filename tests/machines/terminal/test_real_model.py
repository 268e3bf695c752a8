"""SmolLM2-135M-Instruct from the GGUF file that `./drafthouse models get smollm2` fetches; skipped without it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from decoding.models.gguf.reading import write_folder
from tests.kit.terminal import ROOT, read
from worker.terminal.compare import main as compare
from worker.terminal.models import SHELF

FILE = Path(os.environ.get("DRAFTHOUSE_SMOLLM2") or ROOT / "data" / "files" / "smollm2.gguf")
ITEMS = "one two three four five six seven eight nine ten"
CHATS: dict[str, list[dict[str, str]]] = {
    "paris": [{"role": "user", "content": "What is the capital of France?"}],
    "copy": [
        {"role": "system", "content": "You repeat what you are told."},
        {"role": "user", "content": f"Repeat this exactly: {ITEMS} {ITEMS}"},
    ],
}

pytestmark = [
    pytest.mark.real,
    pytest.mark.slow,
    pytest.mark.skipif(
        not FILE.is_file() or FILE.stat().st_size != SHELF["smollm2"].size,
        reason="There is no SmolLM2: run ./drafthouse models get smollm2, or set DRAFTHOUSE_SMOLLM2.",
    ),
]


def test_every_strategy_writes_the_text_of_transformers_for_one_user_and_for_four(tmp_path: Path) -> None:
    (folder := tmp_path / "target").mkdir()
    write_folder(FILE, folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    texts = {}
    for name, chat in CHATS.items():
        ids = tokenizer(tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)).input_ids
        with torch.no_grad():
            wrote = model.generate(torch.tensor([ids]), max_new_tokens=24, do_sample=False)
        texts[name] = wrote[0, len(ids) :].tolist()
    assert "Paris" in tokenizer.decode(texts["paris"])
    rows = (json.dumps({"id": name, "messages": chat}) + "\n" for name, chat in CHATS.items())
    (tmp_path / "chats.jsonl").write_text("".join(rows))
    asked = [
        "--target",
        str(FILE),
        "--prompts",
        str(tmp_path / "chats.jsonl"),
        "--concurrency",
        "1,4",
        "--threads",
        "1",
    ]
    asked += ["--strategies", "lookup,suffix", "--max-new-tokens", "24", "--temperature", "0"]
    assert compare([*asked, "--json", str(tmp_path / "r.json")]) == 0
    for row in read(tmp_path / "r.json")["strategies"]:
        assert {sample["prompt"]: sample["tokens"] for sample in row["samples"]} == texts, row["label"]
