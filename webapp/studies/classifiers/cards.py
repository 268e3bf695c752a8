"""Read the JSON card beside a classifier's weights once, when it comes, so that pages need no file. It may come from
strangers, so every part is checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from decoding.public import DESIGNS
from webapp.core import strict_json
from webapp.core.problems import Invalid
from webapp.uploads.models import Upload
from webapp.uploads.reading import whole

LONGEST = 1024 * 1024
Sound = Callable[[Any], bool]


def of_upload(upload: Upload) -> dict[str, Any]:
    """Read the card among the files; empty if there is none. NaN counts as not measured."""
    file = next((file for file in upload.files.all() if file.path.endswith("card.json")), None)
    if file is None:
        return {}
    try:
        measured = json.loads(whole(file, upload.team_id, longest=LONGEST), parse_constant=lambda name: None)
        card = strict_json.loads(json.dumps(measured))
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{file.path} cannot be read: {error}", field="upload", code="bad-card") from None
    if not isinstance(card, dict):
        raise Invalid(f"{file.path} holds no JSON object.", field="upload", code="bad-card")
    return readable(card)


def readable(card: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the parts that have the shape training writes, so that a page can draw them; the file keeps the rest."""
    return {name: card[name] for name, is_sound in SHAPES.items() if name in card and is_sound(card[name])}


def metrics_of(card: Mapping[str, Any]) -> dict[str, float]:
    """Plain numbers of the card, for lists; curves stay on the card."""
    found = card.get("metrics")
    return {name: value for name, value in found.items() if _is_number(value)} if isinstance(found, dict) else {}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_measure(value: Any) -> bool:
    return value is None or _is_number(value)


def _all_of(item: Sound, most: int = 2000) -> Sound:
    return lambda value: isinstance(value, list) and len(value) <= most and all(map(item, value))


def _by_name(item: Sound) -> Sound:
    return lambda value: isinstance(value, dict) and len(value) <= 200 and all(map(item, value.values()))


def _row(length: int) -> Sound:
    return lambda value: isinstance(value, list) and len(value) == length and all(map(_is_number, value))


def _with(**parts: Sound) -> Sound:
    """Check an object: each named part that it has must be sound."""
    return lambda value: (
        isinstance(value, dict) and all(is_sound(value[n]) for n, is_sound in parts.items() if n in value)
    )


_NUMBERS = _by_name(_is_measure)
SHAPES: dict[str, Sound] = {
    "pair": _all_of(lambda value: isinstance(value, str), most=2),
    "features": _all_of(lambda value: isinstance(value, str)),
    "design": lambda value: value in tuple(DESIGNS),
    "draft_left_out": lambda value: isinstance(value, str) and len(value) <= 400,
    "machine": lambda value: isinstance(value, str) and len(value) <= 200,
    "data": _by_name(lambda value: isinstance(value, str) and len(value) <= 64),
    "thresholds": _NUMBERS,
    "cap": _is_number,
    "sampling": _with(temperature=_is_number),
    "prompts": _NUMBERS,
    "shared": _NUMBERS,
    "labelled": _NUMBERS,
    "metrics": lambda value: (
        _with(reliability=_all_of(_row(3)))(value)
        and all(_is_measure(part) or isinstance(part, list) for part in value.values())
    ),
    "costs": _with(draft=_is_number, decision=_is_number, round=_is_number, target=_all_of(_is_number)),
    "predicted": _NUMBERS,
    "sweep": _by_name(
        _all_of(_with(threshold=_is_number, speedup=_is_number, drafted=_is_number, accepted=_is_number))
    ),
    "versions": _by_name(lambda value: isinstance(value, (int, str))),
}
