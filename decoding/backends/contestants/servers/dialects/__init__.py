"""Dialects of servers. To add one, subclass Dialect, or one that is nearly the same, and list it here."""

from __future__ import annotations

from pathlib import PurePath

from decoding.backends.contestants.servers.dialects.base import Dialect
from decoding.backends.contestants.servers.dialects.llamacpp import LlamaCpp
from decoding.backends.contestants.servers.dialects.openai import VLLM, OpenAI, TensorRT, TransformersServe
from decoding.backends.contestants.servers.dialects.sglang import SGLang
from decoding.errors import BadServer, meant

KINDS = (LlamaCpp, OpenAI, SGLang, TransformersServe, TensorRT, VLLM)
DIALECTS: dict[str, Dialect] = {kind.name: kind() for kind in KINDS}


def dialect_called(name: str) -> Dialect:
    if name not in DIALECTS:
        raise BadServer(f"There is no dialect {name!r}; there are {', '.join(DIALECTS)}.{meant(name, DIALECTS)}")
    return DIALECTS[name]


def dialect_of(program: str) -> str:
    """Return the dialect that a program speaks, from its name; empty if none is known for it."""
    named = PurePath(program).name
    return next((dialect.name for dialect in DIALECTS.values() if named in dialect.programs), "")
