"""llama-server beside our decoder on files that we wrote: the same token ids and nearly the same logits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from decoding.models.checkpoints import LoadedModel, load
from tests.kit.bpe import HARD, save_with_bpe
from tests.kit.gguf_files import exported
from tests.kit.llama_server import VARIABLE, LlamaServer, llama_server, program
from tests.kit.models import LLAMA, LLAMA3, YARN

BINARY = program()
pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(BINARY is None, reason=f"llama-server is not on PATH, and {VARIABLE} does not name it"),
]
TEXT = torch.randint(1, 600, (100,), generator=torch.Generator().manual_seed(2)).tolist()
EXACT_CACHE = ("-ctk", "f32", "-ctv", "f32", "-fa", "off")  # its cache is float16 unless told, ours float32
CLOSE = 2e-3  # of a log probability

WIDE = LLAMA | {"hidden_size": 96, "head_dim": 32, "num_attention_heads": 3, "num_key_value_heads": 1}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama, rope llama3": (
        "llama",
        LLAMA | {"rope_parameters": LLAMA3 | {"rope_theta": 5e5, "original_max_position_embeddings": 16}},
    ),
    "llama, rope yarn, factor": ("llama", WIDE | {"rope_parameters": YARN | {"attention_factor": 1.3}}),
    "qwen2, rope yarn": ("qwen2", WIDE | {"rope_parameters": YARN}),
    "qwen3": ("qwen3", LLAMA | {"head_dim": 16}),
}


def difference(server: LlamaServer, ours: LoadedModel, prompt: list[int]) -> float:
    """Largest difference of the 40 likeliest tokens' log probabilities. The server tells none after a token that is
    part of a letter, so a prompt that is followed by one is cut."""
    while not (told := server.complete(prompt, 1, n_probs=40).get("completion_probabilities")):
        prompt = prompt[:-1]
    ours.runner.rewind(0)
    with torch.inference_mode():
        wanted: Tensor = torch.log_softmax(ours.runner.extend(prompt)[-1], -1)
    likeliest = told[0]["top_logprobs"]
    assert len(likeliest) == 40
    return max(abs(entry["logprob"] - float(wanted[entry["id"]])) for entry in likeliest)


@pytest.mark.parametrize("case", list(FAMILIES))
def test_a_family_has_the_same_logits_and_hard_texts_the_same_ids(tmp_path: Path, case: str) -> None:
    model_type, config = FAMILIES[case]
    folder = save_with_bpe(tmp_path / "model", model_type, **config)
    file, ours = exported(folder, tmp_path / "model.gguf"), load(folder, dtype="float32")
    assert BINARY is not None
    with llama_server(BINARY, file, "-t", "1", *EXACT_CACHE) as server:
        assert difference(server, ours, TEXT) <= CLOSE
        known = HARD if model_type != "qwen2" else [text for text in HARD if "\u0301" not in text]  # it has no NFC
        for text in known:
            assert server.tokenize(text) == ours.tokenizer.encode(text), text
