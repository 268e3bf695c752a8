"""Redact frames for links: a job's reasons always, texts on request, and token ids with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from webapp.comparisons.frames import Frame

SENTENCES = {
    "queued": "It waits for a worker.",
    "failed": "It did not finish.",
    "cancelled": "It was cancelled.",
}


def shown_by(hides_texts: bool) -> Callable[[Frame], Frame]:
    """Redaction of each frame that a link shows."""
    return (lambda frame: without_texts(for_strangers(frame))) if hides_texts else for_strangers


def for_strangers(frame: Frame) -> Frame:
    """Replace the reasons of a job: they may name other jobs, machines and files of the team."""
    if frame["t"] != "comparison":
        return frame
    untold = {"trouble": "", "setback": "", "position": 0, "can_cancel": False}
    return {**frame, "sentence": SENTENCES.get(frame["state"], ""), **untold}


def without_texts(frame: Frame) -> Frame:
    if frame["t"] != "events":
        return frame
    return {**frame, "words": {}, "events": [_event(event) for event in frame["events"]]}


def without_words(prompt: dict[str, Any]) -> dict[str, Any]:
    """Keep only a prompt's number; its category is a word of the team too."""
    return {**prompt, "text": "", "category": ""}


def _event(event: dict[str, Any]) -> dict[str, Any]:
    match event["event"]:
        case "prompted":
            return {**event, "prompt": []}
        case "drafted":
            return {**event, "tokens": [0] * len(event["tokens"])}
        case "delivered":
            return {**event, "tokens": [0] * len(event["tokens"]), "text": ""}
        case "verified":
            return {**event, "token": 0}
        case "anticipated":
            return {**event, "branches": [[accepted, 0, depth] for accepted, _, depth in event["branches"]]}
    return event
