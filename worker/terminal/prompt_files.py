"""Read the prompts that a command runs on. Standard library only."""

from __future__ import annotations

import errno
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from decoding.errors import BadPrompts
from decoding.prompts.prompt import LARGEST_PROMPT_FILE, PromptItem, decode, read_prompts


def read_prompt_file(path: Path, split: str | None, limit: int | None, form: str | None = None) -> list[PromptItem]:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise OSError(errno.EINVAL, "it is not a regular file")  # a pipe would be waited for without end
        if path.stat().st_size > LARGEST_PROMPT_FILE:
            raise OSError(errno.EFBIG, f"it has more than {LARGEST_PROMPT_FILE:,} bytes")
        data = path.read_bytes()
    except OSError as error:
        raise BadPrompts(f"{path} cannot be read: {error.strerror}. Give the path of a prompt file.") from None
    prompts = read_prompts(decode(data, path.name), path.name, form=form)
    chosen = [prompt for prompt in prompts if split in (None, prompt.split)]
    if not chosen:
        raise BadPrompts(f"{path.name} has no prompt of the split {split!r}; leave out --split to take them all.")
    return [prompt for number, prompt in _numbered_by_split(chosen) if limit is None or number <= limit]


def _numbered_by_split(prompts: list[PromptItem]) -> Iterator[tuple[int, PromptItem]]:
    """A limit holds for each split, so that none is lost where a command needs them all."""
    seen: Counter[str] = Counter()
    for prompt in prompts:
        seen[prompt.split] += 1
        yield seen[prompt.split], prompt
