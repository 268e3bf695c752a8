"""Errors, each a sentence that says what happened, why, and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


def meant(given: str, known: Iterable[str]) -> str:
    """Ask "Did you mean …?" if `given` is nearly one of `known`; else return an empty text."""
    near = get_close_matches(given[:40], list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""


class DrafthouseError(Exception):
    """Error that a user can fix. `code` is its stable name for programs, made of the class's; the message is for
    people."""

    code = "error"

    def __init_subclass__(cls) -> None:
        if "code" not in vars(cls):
            cls.code = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", cls.__name__).lower()


class Cancelled(DrafthouseError):
    """Somebody asked to stop before there was a result."""


class BadPrompt(DrafthouseError):
    """One prompt cannot be decoded."""


class BadPrompts(DrafthouseError):
    """A prompt file cannot be read."""


class BadCheckpoint(DrafthouseError):
    """A model folder cannot be loaded."""


class BadPair(DrafthouseError):
    """Target and draft do not fit together."""


class BadStrategy(DrafthouseError):
    """An unknown strategy, or a parameter out of bounds."""


class BadStrategyModule(DrafthouseError):
    """A file in decoding/strategies that lacks a part."""


class BadSampling(DrafthouseError):
    """Sampling settings out of bounds."""


class BadLoad(DrafthouseError):
    """A concurrency or rate out of bounds."""


class BadExport(DrafthouseError):
    """A model that the other engine would not run as our decoder does."""


class BadDevice(DrafthouseError):
    """A device or placement that this machine does not have."""


class DraftLost(DrafthouseError):
    """The draft's process died or fell silent."""


class BadServer(DrafthouseError):
    """A server that cannot be asked: its address, key, dialect or model."""


class BrokenModel(DrafthouseError):
    """The model's output is no distribution."""


class ServerFailed(BrokenModel):
    """A server's answer is missing, torn or late."""


class OutOfMemory(DrafthouseError):
    """The device has too little memory for what was asked."""
