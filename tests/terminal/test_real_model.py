"""SmolLM2-135M-Instruct from the GGUF file that `./drafthouse models get smollm2` fetches; skipped without it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM

from decoding.models.checkpoints import LoadedModel, load
from decoding.models.gguf.reading import write_folder
from worker.terminal.models import SHELF

ROOT = Path(__file__).parents[2]
FILE = Path(os.environ.get("DRAFTHOUSE_SMOLLM2") or ROOT / "data" / "files" / "smollm2.gguf")
CHAT = [{"role": "user", "content": "What is the capital of France?"}]

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(
        not FILE.is_file() or FILE.stat().st_size != SHELF["smollm2"].size,
        reason="There is no SmolLM2: run ./drafthouse models get smollm2, or set DRAFTHOUSE_SMOLLM2.",
    ),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("smollm2")
    write_folder(FILE, folder)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> LoadedModel:
    return load(folder)


def test_it_runs_on_our_decoder_and_answers_in_its_own_chat_template(folder: Path, model: LoadedModel) -> None:
    text = model.tokenizer.inner.apply_chat_template(CHAT, tokenize=False, add_generation_prompt=True)
    assert text.startswith("<|im_start|>system\n") and text.endswith("<|im_start|>assistant\n")
    read = model.tokenizer.encode(text)
    wrote: list[int] = []
    logits = model.runner.extend(read)
    while len(wrote) < 12 and not set(wrote) & model.end_tokens:
        wrote.append(int(logits[-1].argmax()))
        logits = model.runner.extend(wrote[-1:])
    assert "Paris" in model.tokenizer.decode(wrote)
    reference = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        theirs = reference.generate(torch.tensor([read]), max_new_tokens=len(wrote), do_sample=False)
    assert theirs[0, len(read) :].tolist() == wrote


def test_digits_are_tokens_of_their_own(model: LoadedModel) -> None:
    ids = model.tokenizer.encode("2026 3.14")
    assert [model.tokenizer.decode([id]) for id in ids] == ["2", "0", "2", "6", " ", "3", ".", "1", "4"]
