"""JSON from strangers: bounded in depth, and only text that every database can hold."""

from __future__ import annotations

import json
from typing import Any

DEEPEST = 32


def loads(text: str | bytes, *, deepest: int = DEEPEST) -> Any:
    """Parse, or raise ValueError with a sentence. NaN, infinities, NUL and lone surrogates are refused."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise ValueError(f"The JSON is nested deeper than {deepest} levels.") from None
    except UnicodeDecodeError:
        raise ValueError("The JSON is not UTF-8.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"This is no JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    _check(value, deepest)
    return value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number.")


def _check(value: Any, deepest: int) -> None:
    layer = [value]
    for _ in range(deepest + 1):
        for item in layer:
            if isinstance(item, str):
                check_text(item)
            elif isinstance(item, dict):
                for key in item:
                    check_text(key)
        layer = [inner for item in layer for inner in _inside(item)]
        if not layer:
            return
    raise ValueError(f"The JSON is nested deeper than {deepest} levels.")


def _inside(item: Any) -> Any:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else ()


def check_text(text: str) -> None:
    if "\0" in text:
        raise ValueError("The text holds a NUL character (\\u0000); leave it out.")
    if any("\ud800" <= char <= "\udfff" for char in text):
        raise ValueError("The text holds half a surrogate pair; write the whole character.")
