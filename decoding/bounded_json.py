"""JSON from strangers, parsed within bounds. Standard library only: the web also parses prompt files with this module.

A parser can turn 1 byte into 30 bytes of objects, so this module counts objects, lists and values before it parses.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

MOST_CONTAINERS = 1_500_000  # a tokenizer of 262,000 tokens has some 515,000 merges, each a list
MOST_VALUES = 6_000_000
LONGEST_NUMBER = 40  # characters; transformers writes 10**30 as a tokenizer's length without bound
_SPACE = re.compile(r"[ \t\n\r]*")


def loads(text: str) -> Any:
    """Count and parse, or raise ValueError with what is wrong. Keys must be unique, beside what `parse` asks for."""
    check_counts(text)
    return parse(text, object_pairs_hook=_unique)


def parse(text: str, **hooks: Any) -> Any:
    """Parse, or raise ValueError with what is wrong. Numbers must be finite and short, nesting shallow."""
    try:
        return json.loads(text, parse_constant=_no_number, parse_int=_integer, parse_float=_finite, **hooks)
    except RecursionError:
        raise ValueError("its lists are nested too deeply") from None


def entries(text: str) -> Iterator[Any]:
    """Parse the entries of a JSON array one after another, like `loads`. Those before an error are yielded."""
    check_counts(text)
    decoder = json.JSONDecoder(
        parse_constant=_no_number, parse_int=_integer, parse_float=_finite, object_pairs_hook=_unique
    )
    at, before = _start(text, 0), "["
    if not text.startswith(before, at):
        raise json.JSONDecodeError("Expecting a list", text, at)
    if text.startswith("]", _start(text, at + 1)):
        at, before = _start(text, at + 1), "]"
    while before != "]":
        try:
            entry, at = decoder.raw_decode(text, _start(text, at + 1))
        except RecursionError:
            raise ValueError("its lists are nested too deeply") from None
        yield entry
        at = _start(text, at)
        before = text[at : at + 1]
        if before not in (",", "]"):
            raise json.JSONDecodeError("Expecting ',' delimiter", text, at)
    if _start(text, at + 1) < len(text):
        raise json.JSONDecodeError("Extra data", text, at + 1)


def _start(text: str, at: int) -> int:
    """Return the position of the first character that is no space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def check_counts(text: str) -> None:
    """Refuse text with more lists or values than any honest file has. Brackets inside strings count too."""
    containers = text.count("[") + text.count("{")
    if containers > MOST_CONTAINERS:
        raise ValueError(f"it has {containers:,} lists and objects, more than {MOST_CONTAINERS:,}")
    values = text.count(",") + containers
    if values > MOST_VALUES:
        raise ValueError(f"it has {values:,} values, more than {MOST_VALUES:,}")


def is_deeper(value: Any, most: int) -> bool:
    """Whether objects and lists are nested in more levels than these."""
    layer = [value]
    for _ in range(most + 1):
        layer = [inner for item in layer for inner in _inside(item) if isinstance(inner, (Mapping, list))]
    return bool(layer)


def texts(value: Any) -> Iterator[str]:
    """Yield every name and text of a value, however deep it is."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, Mapping):
            waiting += item
        waiting += _inside(item)


def _inside(item: Any) -> Iterable[Any]:
    if isinstance(item, Mapping):
        return item.values()
    return item if isinstance(item, list) else ()


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _integer(digits: str) -> int:
    return int(_short(digits))


def _finite(digits: str) -> float:
    number = float(_short(digits))
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large a number")
    return number


def _short(digits: str) -> str:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"the number {digits[:12]}… has {len(digits):,} characters; it may have {LONGEST_NUMBER}")
    return digits


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice[:80]!r} is there twice")
    return found
