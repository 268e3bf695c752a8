"""A llama-server of our own on loopback, for as long as a block runs."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

VARIABLE = "DRAFTHOUSE_LLAMA_SERVER"
TIME_TO_LOAD = 120.0  # s


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
def llama_server(binary: Path, model: Path, log: Path, *options: str) -> Iterator[LlamaServer]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [binary, "-m", model, "--host", "127.0.0.1", "--port", str(port), "-np", "1", *options]
    with log.open("wb") as kept:
        process = subprocess.Popen([str(part) for part in command], stdout=kept, stderr=subprocess.STDOUT)
    try:
        server = LlamaServer(f"http://127.0.0.1:{port}")
        _wait(server, process, log)
        yield server
    finally:
        process.kill()
        process.wait()


def _wait(server: LlamaServer, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + TIME_TO_LOAD
    while time.monotonic() < until:
        if process.poll() is not None:
            raise RuntimeError(f"llama-server ended: {log.read_text(errors='replace')[-1500:]}")
        try:
            with urllib.request.urlopen(f"{server.address}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise RuntimeError(f"llama-server did not load its model in {TIME_TO_LOAD:.0f} s")
