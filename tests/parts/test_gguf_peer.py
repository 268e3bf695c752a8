"""llama-server beside our decoder on files that we wrote: the same token ids, nearly the same logits, the same text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from decoding.models.checkpoints import LoadedModel, load
from decoding.models.gguf.writing import export_of, write
from tests.kit.bpe import HARD, save_with_bpe
from tests.kit.llama_server import VARIABLE, LlamaServer, llama_server, program
from tests.kit.models import LLAMA, LLAMA3, YARN

BINARY = program()
pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(BINARY is None, reason=f"llama-server is not on PATH, and {VARIABLE} does not name it"),
]
STARTER = Path(__file__).parents[2] / "starter" / "pair"
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


@contextmanager
def both(folder: Path, at: Path, dtype: str = "float32") -> Iterator[tuple[LlamaServer, LoadedModel]]:
    assert BINARY is not None
    write(export_of(folder), at / "model.gguf", dtype)
    with llama_server(BINARY, at / "model.gguf", "-t", "1", *EXACT_CACHE) as server:
        yield server, load(folder, dtype="float32")


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


def greedy(ours: LoadedModel, prompt: list[int], count: int) -> list[int]:
    ours.runner.rewind(0)
    found = [int(ours.runner.extend(prompt)[-1].argmax())]
    while len(found) < count:
        found.append(int(ours.runner.extend(found[-1:])[-1].argmax()))
    return found


@pytest.mark.parametrize("case", list(FAMILIES))
def test_a_family_has_the_same_logits_and_hard_texts_the_same_ids(tmp_path: Path, case: str) -> None:
    model_type, config = FAMILIES[case]
    folder = save_with_bpe(tmp_path / "model", model_type, **config)
    with both(folder, tmp_path) as (server, ours):
        assert difference(server, ours, TEXT) <= CLOSE
        for text in HARD:
            assert server.tokenize(text) == ours.tokenizer.encode(text), text


@pytest.mark.parametrize("part", ["target", "draft"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_starter_pair_gives_the_same_ids_logits_and_text(tmp_path: Path, part: str, dtype: str) -> None:
    with both(STARTER / part, tmp_path, dtype) as (server, ours):
        for text in HARD:
            assert server.tokenize(text) == ours.tokenizer.encode(text), text
        prompt = ours.tokenizer.encode("def fibonacci(n):\n    if n < 2:\n        return n\n")
        assert difference(server, ours, prompt) <= (CLOSE if dtype == "float32" else 0.1)  # it rounds rows to that type
        assert server.complete(prompt, 96)["tokens"] == greedy(ours, prompt, 96)
