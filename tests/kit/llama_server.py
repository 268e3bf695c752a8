"""A llama-server of our own on loopback, for as long as a block runs."""

from __future__ import annotations

import json
import os
import shutil
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from worker.started_server import started

VARIABLE = "DRAFTHOUSE_LLAMA_SERVER"


def program() -> Path | None:
    """Find llama-server: named by the variable, else on the path."""
    found = os.environ.get(VARIABLE) or shutil.which("llama-server")
    return Path(found) if found and Path(found).is_file() else None


class LlamaServer:
    def __init__(self, address: str) -> None:
        self.address = address

    def post(self, path: str, **body: Any) -> Any:
        request = urllib.request.Request(f"{self.address}{path}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=600) as answer:
            return json.load(answer)

    def tokenize(self, text: str) -> list[int]:
        ids: list[int] = self.post("/tokenize", content=text)["tokens"]
        return ids

    def complete(self, prompt: Sequence[int], count: int, **more: Any) -> Any:
        """Decode greedily from token ids, past end tokens, and without what the server kept of earlier prompts."""
        return self.post(
            "/completion",
            prompt=list(prompt),
            n_predict=count,
            temperature=0,
            ignore_eos=True,
            cache_prompt=False,
            return_tokens=True,
            **more,
        )


@contextmanager
def llama_server(binary: Path, model: Path, *options: str) -> Iterator[LlamaServer]:
    command = [str(binary), "-m", str(model), "--host", "127.0.0.1", "--port", "{port}", "-np", "1", *options]
    with started("llama-server", command, "/health") as server:
        yield LlamaServer(server.address)
