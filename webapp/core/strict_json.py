"""JSON from strangers: `bounded_json` with bounds on depth and count, and only text that every database can hold."""

from __future__ import annotations

import json
import re
from typing import Any

from decoding.public import bounded_json

DEEPEST = 32
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


def loads(text: str | bytes, *, deepest: int = DEEPEST, most: int | None = None) -> Any:
    """Parse, or raise ValueError with a sentence. NUL and lone surrogates are refused. `most` bounds values and names,
    which are counted before anything is made of them."""
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("The JSON is not UTF-8.") from None
    if most is not None:
        _count(text, most)
    try:
        value = bounded_json.parse(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"This is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except ValueError as error:
        raise ValueError(f"In the JSON, {error}.") from None
    if bounded_json.is_deeper(value, deepest):
        raise ValueError(f"The JSON is nested deeper than {deepest} levels.")
    if "\\u" in text or _has_half_a_pair(text):  # no other text can hold NUL or half a pair
        for part in bounded_json.texts(value):
            check_text(part)
    return value


def _count(text: str, most: int) -> None:
    """Count values: each but the first follows a comma, bracket or brace. Count names: each has two quotes."""
    bare = text.replace("\\\\", "").replace('\\"', "") if "\\" in text else text
    if bare.count('"') <= 2 * most:
        outside = "".join(bare.split('"')[::2])
        if sum(map(outside.count, ",[{")) <= most:
            return
    raise ValueError(f"The JSON holds more than {most:,} values.")


def check_text(text: str) -> None:
    if "\0" in text:
        raise ValueError("The text holds a NUL character (\\u0000); leave it out.")
    if _has_half_a_pair(text):
        raise ValueError("The text holds half a surrogate pair; write the whole character.")


def _has_half_a_pair(text: str) -> bool:
    return not text.isascii() and _HALF_A_PAIR.search(text) is not None
