"""SmolLM2-135M-Instruct, the GGUF file that `./drafthouse models get smollm2` fetches, and chats for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from worker.terminal.models import SHELF

ROOT = Path(__file__).parents[2]
FILE = Path(os.environ.get("DRAFTHOUSE_SMOLLM2") or ROOT / "data" / "files" / "smollm2.gguf")
ITEMS = "one two three four five six seven eight nine ten"
CHATS: dict[str, list[dict[str, str]]] = {
    "paris": [{"role": "user", "content": "What is the capital of France?"}],
    "copy": [
        {"role": "system", "content": "You repeat what you are told."},
        {"role": "user", "content": f"Repeat this exactly: {ITEMS} {ITEMS}"},
    ],
    "turns": [
        {"role": "user", "content": "Hello, I am Ada."},
        {"role": "assistant", "content": "Hello Ada, how can I help you?"},
        {"role": "user", "content": "What is my name?"},
    ],
}

needed = pytest.mark.skipif(
    not FILE.is_file() or FILE.stat().st_size != SHELF["smollm2"].size,
    reason="There is no SmolLM2: run ./drafthouse models get smollm2, or set DRAFTHOUSE_SMOLLM2.",
)


def write_chats(file: Path) -> Path:
    file.write_text("".join(json.dumps({"id": name, "messages": chat}) + "\n" for name, chat in CHATS.items()))
    return file
