"""JSON from strangers: bounded in depth, count and numbers, and only text that every database can hold."""

from __future__ import annotations

import json
import math
import re
from typing import Any

DEEPEST = 32
LONGEST_NUMBER = 40  # characters; 24 are enough to write any float exactly
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


def loads(text: str | bytes, *, deepest: int = DEEPEST, most: int | None = None) -> Any:
    """Parse JSON, or raise ValueError with a sentence. NaN, infinities, NUL and lone surrogates are refused, and so are
    more values and names than `most`, which are counted before anything is made of them."""
    try:
        text = text if isinstance(text, str) else text.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("The JSON is not UTF-8.") from None
    if most is not None:
        _count(text, most)
    try:
        value = json.loads(text, parse_constant=_no_constant, parse_int=_int, parse_float=_float)
    except RecursionError:
        raise ValueError(f"The JSON is nested deeper than {deepest} levels.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"This is no JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    _check_depth(value, deepest)
    if "\\u" in text or _has_half_a_pair(text):  # no other text can hold NUL or half a pair
        _check_texts(value)
    return value


def _count(text: str, most: int) -> None:
    """Count values and names: every value but the first follows a comma, a bracket or a brace, and every name is in
    quotes."""
    bare = text.replace("\\\\", "").replace('\\"', "") if "\\" in text else text
    if bare.count('"') <= 2 * most:
        outside = "".join(bare.split('"')[::2])
        if sum(map(outside.count, ",[{")) <= most:
            return
    raise ValueError(f"The JSON holds more than {most:,} values.")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number.")


def _int(text: str) -> int:
    return int(_short(text))


def _float(text: str) -> float:
    number = float(_short(text))
    if math.isinf(number):
        raise ValueError(f"{text} is larger than any number that can be read here.")
    return number


def _short(text: str) -> str:
    if len(text) > LONGEST_NUMBER:
        raise ValueError(f"The number {text[:12]}… has {len(text)} characters; it may have {LONGEST_NUMBER}.")
    return text


def _check_depth(value: Any, deepest: int) -> None:
    layer = [value]
    for _ in range(deepest + 1):
        layer = [inner for item in layer for inner in _inside(item) if isinstance(inner, (dict, list))]
        if not layer:
            return
    raise ValueError(f"The JSON is nested deeper than {deepest} levels.")


def _check_texts(value: Any) -> None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            check_text(item)
        elif isinstance(item, dict):
            waiting += [*item, *item.values()]
        elif isinstance(item, list):
            waiting += item


def _inside(item: Any) -> Any:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else ()


def check_text(text: str) -> None:
    if "\0" in text:
        raise ValueError("The text holds a NUL character (\\u0000); leave it out.")
    if _has_half_a_pair(text):
        raise ValueError("The text holds half a surrogate pair; write the whole character.")


def _has_half_a_pair(text: str) -> bool:
    return not text.isascii() and _HALF_A_PAIR.search(text) is not None
