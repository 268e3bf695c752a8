"""Tokenizers read from their files, so that two can be compared. Standard library only.

Two folders rarely hold the same bytes: one was saved by an older library, another names the author's folder. The
comparison covers vocabulary, merges and added tokens.

A tokenizer.json is checked before a library builds it. Three things can do harm: how many tokens it lists, how deep its
steps are nested, and how much longer each step makes the text. Files within the bounds still load under a memory limit
(worker/memory.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from decoding.errors import BadCheckpoint
from decoding.models.files import read_json

MOST_TOKENS = 1 << 20
MOST_MERGES = 1 << 21
MOST_ADDED = 50_000
MOST_STEPS = 64  # in normalizer, pre-tokenizer, post-processor and decoder each
MOST_GROWTH = 32.0  # most that the normalizer may lengthen a text; " " to "▁" is 1
LONGEST_PATTERN = 4_000  # characters
STEPS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
INSIDE = ("normalizers", "pretokenizers", "processors", "decoders")

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


def read_tokenizer_json(folder: Path) -> dict[str, Any]:
    """Read tokenizer.json within bounds."""
    whole = read_json(folder / "tokenizer.json") or {}
    try:
        check_tokenizer(whole)
    except ValueError as error:
        raise BadCheckpoint(
            f"The tokenizer of {folder} cannot be loaded: {error}. Copy tokenizer.json again."
        ) from None
    return whole


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


def check_tokenizer(whole: dict[str, Any]) -> None:
    """Raise ValueError that says what exceeds a bound."""
    model = whole.get("model")
    if not isinstance(model, dict):
        raise ValueError("it has no model")
    _check_count("tokens", model.get("vocab"), MOST_TOKENS)
    _check_count("merges", model.get("merges"), MOST_MERGES)
    _check_count("added tokens", whole.get("added_tokens"), MOST_ADDED)
    for name in STEPS:
        steps = list(_steps(whole.get(name)))
        for step in steps:
            _check_step(name, step)
        if name != "pre_tokenizer" and (growth := math.prod(map(_growth, steps))) > MOST_GROWTH:
            raise ValueError(
                f"its {name} makes a text {growth:,.0f} times as long, {MOST_GROWTH:.0f} times is the most"
            )


def _check_count(what: str, found: Any, most: int) -> None:
    if isinstance(found, (list, dict)) and len(found) > most:
        raise ValueError(f"it has {len(found):,} {what}, more than {most:,}")


def _steps(value: Any) -> Iterator[dict[str, Any]]:
    """Yield a step and those inside it."""
    waiting, count = [value], 0
    while waiting:
        step = waiting.pop()
        if not isinstance(step, dict):
            continue
        count += 1
        if count > MOST_STEPS:
            raise ValueError(f"it has more than {MOST_STEPS} steps in one part")
        yield step
        for name in INSIDE:
            inside = step.get(name)
            waiting += inside if isinstance(inside, list) else []


def _check_step(part: str, step: dict[str, Any]) -> None:
    if len(_pattern(step)) > LONGEST_PATTERN:
        raise ValueError(f"a pattern of its {part} has more than {LONGEST_PATTERN:,} characters")
    for name in ("single", "pair"):
        template = step.get(name)
        if isinstance(template, list) and len(template) > MOST_STEPS:
            raise ValueError(f"its template has {len(template):,} pieces, more than {MOST_STEPS}")


def _growth(step: dict[str, Any]) -> float:
    """Factor by which this step may lengthen a text."""
    match step.get("type"):
        case "Replace":
            is_regex = isinstance(step.get("pattern"), dict) and "Regex" in step["pattern"]
            shortest = 1 if is_regex else max(1, len(_pattern(step)))
            matches_nothing = 1 if is_regex else 0  # a regex may match the empty text between any two characters
            return max(1.0, _length(step.get("content")) / shortest + matches_nothing)
        case "Prepend":
            return 1.0 + _length(step.get("prepend"))  # added tokens split a text, and each piece gets the prefix
    return 1.0


def _pattern(step: dict[str, Any]) -> str:
    pattern = step.get("pattern")
    found = next(iter(pattern.values()), "") if isinstance(pattern, dict) else pattern
    return found if isinstance(found, str) else ""


def _length(text: Any) -> int:
    return len(text) if isinstance(text, str) else 0
