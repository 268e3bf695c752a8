"""Texts that earlier runs wrote, read from their traces: `compare --trace FILE` keeps every round. Standard library
only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from decoding.errors import BadPrompts
from decoding.trace.events import Drafted, Event, Finished, Verified, from_dict

Texts = Mapping[str, Sequence[int]]  # by the prompt's id; without the prompt

WHOSE = ("strategy", "prompt", "repeat")


def texts_of(lines: Iterable[str], name: str) -> Texts:
    """Return one text per prompt: its first repeat, whose seed a recording uses too. `name` is the file's."""
    samples: dict[tuple[Any, ...], list[Event]] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            whose = tuple(record.pop(each) for each in WHOSE)
            samples.setdefault(whose, []).append(from_dict(record))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadPrompts(
                f"Line {number} of {name} is not an event of a trace ({error}); give what compare --trace wrote."
            ) from None
    found: dict[str, list[int]] = {}
    for (_, prompt, repeat), events in samples.items():
        if repeat == 0 and any(isinstance(event, Finished) and event.reason != "cancelled" for event in events):
            found.setdefault(prompt, text_of(events))
    return found


def text_of(events: Iterable[Event]) -> list[int]:
    """Collect the tokens that a sample's rounds added, up to the length that its last event gives."""
    text: list[int] = []
    drafted: Sequence[int] = ()
    for event in events:
        match event:
            case Drafted():
                drafted = event.tokens
            case Verified():
                text += [*drafted[: event.accepted], event.token]
                drafted = ()
            case Finished():
                del text[event.new_tokens :]
            case _:
                pass
    return text
