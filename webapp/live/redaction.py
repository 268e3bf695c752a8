"""Frames for a link that shows only numbers. Token ids go as well: whoever has the tokenizer could read them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webapp.live.watch import Frame

SENTENCES = {
    "queued": "It waits for a worker.",
    "failed": "It did not come to its end.",
    "cancelled": "It was cancelled.",
}


def shown_by(hides_texts: bool) -> Callable[[Frame], Frame]:
    """What a link makes of each frame."""
    return (lambda frame: without_texts(for_strangers(frame))) if hides_texts else for_strangers


def for_strangers(frame: Frame) -> Frame:
    """Why a job waits or failed may name other jobs, machines and files of the team."""
    if frame["t"] != "comparison":
        return frame
    return {**frame, "sentence": SENTENCES.get(frame["state"], ""), "position": 0, "can_cancel": False}


def without_texts(frame: Frame) -> Frame:
    if frame["t"] != "events":
        return frame
    return {**frame, "words": {}, "events": [_event(event) for event in frame["events"]]}


def without_words(prompt: dict[str, Any]) -> dict[str, Any]:
    """A prompt of which only the number is shown. Its category is a word of the team's own too."""
    return {**prompt, "text": "", "category": ""}


def _event(event: dict[str, Any]) -> dict[str, Any]:
    match event["event"]:
        case "drafted":
            return {**event, "tokens": [0] * len(event["tokens"])}
        case "verified":
            return {**event, "token": 0}
        case "anticipated":
            return {**event, "branches": [[accepted, 0, depth] for accepted, _, depth in event["branches"]]}
    return event
