"""Errors, each a sentence that says what happened, why, and what to do.

DrafthouseError
├── BadPrompt            one prompt cannot be decoded
├── BadPrompts           a prompt file cannot be read
├── BadCheckpoint        a model folder cannot be loaded
├── BadPair              target and draft do not fit together
├── BadStrategy          an unknown strategy, or a parameter out of bounds
├── BadStrategyModule    a file in decoding/strategies that lacks a part
├── BadSampling          sampling settings out of bounds
├── BadLoad              a concurrency or rate out of bounds
├── BadExport            a model that the other engine would not run as our decoder does
├── BadDevice            a device or placement that this machine does not have
├── DraftLost            the draft's process died or fell silent
├── BadServer            a server that cannot be asked: its address, key, dialect or model
├── BrokenModel          the model's output is no distribution
│   └── ServerFailed     a server's answer is missing, torn or late
├── Cancelled            somebody asked to stop before there was a result
└── OutOfMemory          the device has too little memory for what was asked
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def meant(given: str, known: Iterable[str]) -> str:
    """Ask "Did you mean …?" if `given` is nearly one of `known`; else return an empty text."""
    near = get_close_matches(given[:40], list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""


class DrafthouseError(Exception):
    """Error that a user can fix. `code` is its stable name for programs; the message is for people."""

    code = "error"


class Cancelled(DrafthouseError):
    code = "cancelled"


class BadPrompt(DrafthouseError):
    code = "bad-prompt"


class BadPrompts(DrafthouseError):
    code = "bad-prompts"


class BadCheckpoint(DrafthouseError):
    code = "bad-checkpoint"


class BadPair(DrafthouseError):
    code = "bad-pair"


class BadStrategy(DrafthouseError):
    code = "bad-strategy"


class BadStrategyModule(DrafthouseError):
    code = "bad-strategy-module"


class BadSampling(DrafthouseError):
    code = "bad-sampling"


class BadLoad(DrafthouseError):
    code = "bad-load"


class BadExport(DrafthouseError):
    code = "bad-export"


class BadDevice(DrafthouseError):
    code = "bad-device"


class DraftLost(DrafthouseError):
    code = "draft-lost"


class BrokenModel(DrafthouseError):
    code = "broken-model"


class BadServer(DrafthouseError):
    code = "bad-server"


class ServerFailed(BrokenModel):
    code = "server-failed"


class OutOfMemory(DrafthouseError):
    code = "out-of-memory"
