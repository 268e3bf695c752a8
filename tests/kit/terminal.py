"""Commands on a small random pair, and the documents that they write."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jsonschema

from tests.kit.models import LLAMA, save
from worker.terminal.ending import ended

ROOT = Path(__file__).parents[2]
PIECES = ("target", "draft", "prompts.jsonl")


def make_box(folder: Path) -> Path:
    """Save a target, a draft and eight prompts."""
    save(folder / "target", "llama", **LLAMA)
    save(folder / "draft", "llama", **{**LLAMA, "num_hidden_layers": 1})
    prompts = [{"id": f"p{n}", "text": f"w{n} w{n + 9} w3", "category": "words"} for n in range(8)]
    (folder / "prompts.jsonl").write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    return folder


def copied(box: Path, folder: Path) -> Path:
    """Copy a box, to be changed."""
    shutil.copytree(box, folder, dirs_exist_ok=True)
    return folder


def on_pair(box: Path, *more: object, draft: bool = True, tokens: int = 12) -> list[str]:
    """Arguments of a command; what comes later wins."""
    models = [f"--{role}={box / role}" for role in ("target", "draft")[: 1 + draft]]
    return [*models, f"--prompts={box / 'prompts.jsonl'}", f"--max-new-tokens={tokens}", *map(str, more)]


def given(run: Callable[[Sequence[str]], None], *arguments: object) -> int:
    """Run a command and return its exit code."""
    return ended(run, [*map(str, arguments)])


def read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def compared(file: Path) -> dict[str, Any]:
    """Read what a comparison wrote, and hold it against its schema."""
    found = read(file)
    schema = read(ROOT / "docs" / "compare.schema.json")
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(found)
    return found
