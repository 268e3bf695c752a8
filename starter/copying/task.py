"""One text to copy from and its answer."""

import hashlib
from dataclasses import dataclass

SHARES = {"test": 0.35, "validation": 0.55}  # upper limits of a source's hash; anything above is train


@dataclass(frozen=True)
class Task:
    """A prompt and the answer that copies from it. Tasks of one source belong to one split."""

    text: str
    reference: str
    category: str
    source: str


def split_of(source: str) -> str:
    share = int(digest(source)[:8], 16) / 16**8
    return next((split for split, end in SHARES.items() if share < end), "train")


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
