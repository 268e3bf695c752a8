"""Coder: turns bytes into one tokenizer's ids, so that the ids write exactly these bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

from decoding.errors import BadPrompt
from decoding.vocabularies.spelling import Spelling, cut

Encode = Callable[[str], list[int]]


class Coder:
    def __init__(self, spelling: Spelling, encode: Encode) -> None:
        """`encode` is the tokenizer's own, which may change a text: add a space, normalise it, find special tokens."""
        self.spelling = spelling
        self._encode = encode

    def ids_of(self, text: bytes) -> list[int]:
        """Cut as the tokenizer does where that writes exactly this text, else into the longest tokens. Bytes that no
        token writes are left out."""
        return self._exact(text) or [token for token in cut(self.spelling, text) if token is not None]

    def following(self, before: bytes, text: bytes) -> list[int]:
        """Cut `text` as the tokenizer does after `before`, unless it would put both into one token. The ids end before
        the first byte that no token writes."""
        found, left = self._cut(before + text), len(text)
        first = len(found)
        while left > 0 and first:
            first -= 1
            left -= len(self.spelling.bytes_of(found[first : first + 1]))
        fits = left == 0 and self.spelling.bytes_of(found[first:]) == text
        return found[first:] if fits else self._exact(text) or self.spelling.spell(text)

    def _exact(self, text: bytes) -> list[int]:
        """Cut as the tokenizer does; nothing if that would write another text."""
        found = self._cut(text)
        return found if self.spelling.bytes_of(found) == text else []

    def _cut(self, text: bytes) -> list[int]:
        try:
            words = text.decode("utf-8")
            return self._encode(words[1:] if self._leads and words.startswith(" ") else words)
        except (UnicodeDecodeError, BadPrompt):
            return []

    @cached_property
    def _leads(self) -> bool:
        """Whether the tokenizer puts a space before every text."""
        return self.spelling.bytes_of(self._encode("a")) == b" a"


def whole_characters(text: bytes) -> bytes:
    """Leave out the last character if its bytes are incomplete."""
    for start in range(len(text) - 1, max(len(text) - 4, -1), -1):
        if text[start] >= 0xC0:  # the first byte of a character says how many follow
            length = 2 if text[start] < 0xE0 else 3 if text[start] < 0xF0 else 4
            return text if start + length <= len(text) else text[:start]
        if text[start] < 0x80:
            break
    return text


def tail_of(spelling: Spelling, tokens: Sequence[int], most: int = 32) -> tuple[int, bytes]:
    """Return where the last word of a text begins, as a number of tokens, and what follows: a place where tokenizers
    cut in any case. A special token is no part of a word."""
    start = len(tokens)
    while start > max(len(tokens) - most, 0) and tokens[start - 1] not in spelling.specials:
        start -= 1
        if spelling.written.get(tokens[start], b"")[:1] in (b" ", b"\n"):
            break
    return start, spelling.bytes_of(tokens[start:])
