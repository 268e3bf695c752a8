"""Tokenizers read from their files, so that two can be compared. Standard library only.

Two folders rarely hold the same bytes: one was saved by an older library, another names the author's folder. The
comparison covers vocabulary, merges and added tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from decoding.errors import BadCheckpoint
from decoding.models.files import read_json
from decoding.models.tokenizer_bounds import check_tokenizer

Signs = Literal[
    "bytes",  # a character for each byte, as in GPT-2
    "spaces",  # "▁" for a space, as in SentencePiece
    "words",  # a token is a word, or "##…", the rest of one, as in BERT
    "itself",
]


class Tokenizer(Protocol):
    def encode(self, text: str) -> list[int]: ...
    def decode(self, tokens: Sequence[int]) -> str: ...


@dataclass(frozen=True)
class TokenizerFacts:
    ids: dict[str, int]  # token -> id
    merges: tuple[str, ...]
    specials: frozenset[str]
    added: frozenset[str] = frozenset()  # tokens that stand in no vocabulary, written as they are
    signs: Signs = "bytes"  # how tokens write what is no plain letter


def read_tokenizer(folder: Path) -> TokenizerFacts:
    whole = read_tokenizer_json(folder)
    if whole is not None:
        return _from_tokenizer_json(folder, whole)
    vocab, added = (read_json(folder / name) or {} for name in ("vocab.json", "added_tokens.json"))
    merges = _lines(folder / "merges.txt")
    return TokenizerFacts({**vocab, **added}, merges, frozenset(added), frozenset(added))


def read_tokenizer_json(folder: Path) -> dict[str, Any] | None:
    """Read tokenizer.json within bounds; None if there is none."""
    whole = read_json(folder / "tokenizer.json")
    try:
        if whole is not None:
            check_tokenizer(whole)
    except ValueError as error:
        raise BadCheckpoint(
            f"The tokenizer of {folder} cannot be loaded: {error}. Copy tokenizer.json again."
        ) from None
    return whole


def _from_tokenizer_json(folder: Path, whole: dict[str, Any]) -> TokenizerFacts:
    try:
        model = whole["model"]
        vocab = model["vocab"]
        # A unigram model lists tokens with scores, in the order of their ids.
        ids = vocab if isinstance(vocab, dict) else {str(entry[0]): number for number, entry in enumerate(vocab)}
        added = whole.get("added_tokens") or []
        ids = {**ids, **{token["content"]: int(token["id"]) for token in added}}
        merges = tuple(pair if isinstance(pair, str) else " ".join(pair) for pair in model.get("merges") or [])
        names = frozenset(token["content"] for token in added)
        specials = frozenset(token["content"] for token in added if token.get("special"))
        signs = _signs(whole)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise BadCheckpoint(f"{folder / 'tokenizer.json'} is not a tokenizer ({error!r}). Copy it again.") from None
    return TokenizerFacts(ids, merges, specials, names, signs)


def _signs(whole: dict[str, Any]) -> Signs:
    kinds = set(_kinds([whole.get(name) for name in ("normalizer", "pre_tokenizer", "decoder")]))
    if "ByteLevel" in kinds:
        return "bytes"
    if kinds & {"Metaspace", "ByteFallback"} or "▁" in str(whole.get("normalizer")):
        return "spaces"
    is_of_words = whole["model"].get("type") in ("WordPiece", "WordLevel")
    return "words" if is_of_words or "WordPiece" in kinds else "itself"


def _kinds(value: Any) -> Iterator[str]:
    """Yield the kind of each step, and of those inside it. `check_tokenizer` has bounded them."""
    if isinstance(value, dict):
        yield str(value.get("type"))
        value = list(value.values())
    for inner in value if isinstance(value, list) else []:
        yield from _kinds(inner)


def _lines(file: Path) -> tuple[str, ...]:
    if not file.is_file():
        return ()
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    return tuple(line for line in lines if line and not line.startswith("#version"))
