"""Things for tests, made by plain functions through the services that make them in earnest."""

from __future__ import annotations

import json
import math
from typing import Any

from webapp.accounts.actor import Actor
from webapp.registry import services
from webapp.registry.models import Dataset, LanguageModel, Pair
from webapp.uploads import services as uploads
from webapp.uploads.models import Upload

CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 32,
    "num_hidden_layers": 2,
    "hidden_size": 8,
    "max_position_embeddings": 64,
}


def safetensors(shapes: dict[str, list[int]], *, dtype: str = "F32", tail: bytes = b"", **spoiled: Any) -> bytes:
    header, at = {}, 0
    for name, shape in shapes.items():
        size = math.prod(shape) * (4 if dtype == "F32" else 2)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    header.update(spoiled)
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(at) + tail


def checkpoint(
    *, layers: int = 2, vocab: int = 32, tokenizer: bytes = b'{"model": {}}', **extra: bytes
) -> dict[str, bytes]:
    config = {**CONFIG, "num_hidden_layers": layers, "vocab_size": vocab}
    weights = {"embed": [vocab, 8], **{f"layer.{number}": [8, 8] for number in range(layers)}}
    return {
        "config.json": json.dumps(config).encode(),
        "model.safetensors": safetensors(weights),
        "tokenizer.json": tokenizer,
        **extra,
    }


def upload(by: Actor, files: dict[str, bytes], name: str = "files") -> Upload:
    return uploads.keep(team=by.home, name=name, files=files.items(), by=by)


def model(by: Actor, name: str = "target", **options: Any) -> LanguageModel:
    return services.add_uploaded_model(name=name, upload=upload(by, checkpoint(**options)), by=by)


def pair(by: Actor, name: str = "pair") -> Pair:
    return services.add_pair(name=name, target=model(by, "target", layers=4), draft=model(by, "draft", layers=1), by=by)


def dataset(by: Actor, count: int = 3, name: str = "prompts") -> Dataset:
    text = "".join(
        json.dumps({"text": f"prompt {n}", "split": "test", "category": "abc"[n % 3]}) + "\n" for n in range(count)
    )
    return services.add_pasted_dataset(name=name, file_name="prompts.jsonl", text=text, by=by)
