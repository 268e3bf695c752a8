"""Chat template of a model folder: a Jinja text that its authors wrote, and the special tokens that it may name.

The file is read here and rendered in the sandbox alone. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decoding.errors import BadCheckpoint
from decoding.models.files import read_json

LARGEST = 1 << 20  # bytes; published templates have some 20,000
SPECIAL = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
WITH_TOOLS = "tool_use"  # name of the second template, where a model has two


@dataclass(frozen=True, slots=True)
class Template:
    text: str
    special: Mapping[str, str]  # texts of the special tokens, by the names that templates use


def template_of(folder: Path, *, has_tools: bool = False) -> Template | None:
    """Return the template of the folder; None if there is none."""
    config = read_json(folder / "tokenizer_config.json") or {}
    text = _text(folder, config, has_tools)
    return Template(text, _special(folder, config)) if text else None


def _text(folder: Path, config: Mapping[str, Any], has_tools: bool) -> str:
    """Look where transformers looks: a file of its own wins over the tokenizer's config."""
    if (folder / "chat_template.jinja").is_file():
        return _read(folder / "chat_template.jinja")
    beside = read_json(folder / "chat_template.json") or {}
    found = beside.get("chat_template", config.get("chat_template"))
    if isinstance(found, Sequence) and not isinstance(found, str):
        named = {one["name"]: one.get("template") for one in found if isinstance(one, Mapping) and "name" in one}
        found = named.get(WITH_TOOLS if has_tools and WITH_TOOLS in named else "default")
    if found is not None and not isinstance(found, str):
        raise BadCheckpoint(f"The chat_template of {folder} is not text. Copy tokenizer_config.json again.")
    return found or ""


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST:
            raise BadCheckpoint(f"{file} is larger than {LARGEST:,} bytes, too large for a template. Copy it again.")
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", "") or "it is not UTF-8 text"
        raise BadCheckpoint(f"The chat template {file} cannot be read: {why}. Copy it again.") from None


def _special(folder: Path, config: Mapping[str, Any]) -> dict[str, str]:
    named = {**(read_json(folder / "special_tokens_map.json") or {}), **config}
    texts = {name: named[name].get("content") if isinstance(named.get(name), Mapping) else named.get(name)
             for name in SPECIAL}  # fmt: skip
    return {name: text for name, text in texts.items() if isinstance(text, str)}
