"""Spelling: the bytes that each token of a tokenizer writes. Coder: the ids that write given bytes. Standard library
only.

Tokenizers have different signs for the same text: "Ġthe", "▁the" and "the" all write " the". Bytes are what they have
in common.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from decoding.errors import BadPrompt
from decoding.models.tokenizer_files import Signs, TokenizerFacts

Encode = Callable[[str], list[int]]

LONGEST = 64  # bytes of a token that greedy matching looks for


def _byte_signs() -> dict[int, int]:
    """Return the character that byte-level tokenizers (GPT-2's) write for each byte, as a table for `str.translate`."""
    itself = [*range(33, 127), *range(161, 173), *range(174, 256)]
    moved = (byte for byte in range(256) if byte not in itself)
    return {byte: byte for byte in itself} | {256 + n: byte for n, byte in enumerate(moved)}


_BYTES = _byte_signs()


@dataclass(frozen=True)
class Spelling:
    """Texts of one tokenizer's tokens."""

    written: dict[int, bytes]  # id -> bytes, without special tokens
    specials: dict[int, str]  # id -> name
    spare: frozenset[int]  # ids of single bytes that the tokenizer uses only where it has no other token

    @property
    def size(self) -> int:
        return len(self.written) + len(self.specials)

    @cached_property
    def ids(self) -> dict[bytes, int]:
        """Bytes -> id: of several tokens that write the same, the one that the tokenizer uses."""
        found: dict[bytes, int] = {}
        for number, text in self.written.items():
            if not text:
                continue
            other = found.setdefault(text, number)
            if other != number and (number in self.spare, number) < (other in self.spare, other):
                found[text] = number
        return found

    def bytes_of(self, tokens: Iterable[int]) -> bytes:
        """Join what the tokens write. Special tokens write nothing."""
        return b"".join(self.written.get(token, b"") for token in tokens)

    def spell(self, text: bytes) -> list[int]:
        """Cut a text into the longest tokens, up to the first byte that no token writes."""
        return [token for token in takewhile(lambda token: token is not None, cut(self, text)) if token is not None]

    def longest(self, text: bytes) -> int | None:
        """Find the longest token that the text begins with."""
        ids = self.ids
        lengths = range(min(len(text), LONGEST), 0, -1)
        return next((ids[text[:length]] for length in lengths if text[:length] in ids), None)


def spelling_of(facts: TokenizerFacts, outputs: int) -> Spelling:
    """Spell all tokens that a model with this many outputs can say."""
    special, added = facts.specials, facts.added
    known = {token: number for token, number in facts.ids.items() if 0 <= number < outputs}
    written = {
        number: token.encode("utf-8", "replace") if token in added else _written(token, facts.signs)
        for token, number in known.items()
        if token not in special
    }
    spare = frozenset(
        number for token, number in known.items() if facts.signs == "spaces" and _spare_byte(token) is not None
    )
    return Spelling(written, {known[token]: token for token in special if token in known}, spare)


def _written(token: str, signs: Signs) -> bytes:
    if signs == "bytes":
        try:
            return token.translate(_BYTES).encode("latin-1")
        except UnicodeEncodeError:  # not from its alphabet
            return token.encode("utf-8", "replace")
    if signs == "words":  # "##ing" goes on with a word, and every other token begins one
        return token[2:].encode("utf-8", "replace") if token[:2] == "##" and token[2:] else f" {token}".encode()
    byte = _spare_byte(token) if signs == "spaces" else None
    return byte if byte is not None else token.replace("▁", " ").encode("utf-8", "replace")


def _spare_byte(token: str) -> bytes | None:
    """Read `<0x41>`, which SentencePiece has for characters without a token."""
    if len(token) == 6 and token[:3] == "<0x" and token[5] == ">":
        try:
            return bytes([int(token[3:5], 16)])
        except ValueError:
            return None
    return None


def cut(spelling: Spelling, text: bytes) -> Iterator[int | None]:
    """Cut a whole text into the longest tokens. None stands for a byte that no token writes."""
    while text:
        number = spelling.longest(text)
        yield number
        text = text[len(spelling.written[number]) if number is not None else 1 :]


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
