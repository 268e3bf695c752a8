"""Parser of a command's options whose errors are sentences, and readers of their values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from decoding.errors import DrafthouseError

RECORDED = "recorded"  # in place of a rate: when requests arrived by their log
Value = TypeVar("Value")


class BadArguments(DrafthouseError):
    code = "bad-arguments"


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        sentence = message.removeprefix("argument ")
        raise BadArguments(f"{sentence[0].upper()}{sentence[1:]}. {self.prog} --help lists what there is.")


def count_of(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number from 1 up")
    return int(text)


def rate_of(text: str) -> tuple[float, float]:
    """Read a rate, or 0 and the speed of recorded arrivals."""
    name, _, speed = text.partition(":")
    recorded = name == RECORDED
    try:
        value = float((speed or "1") if recorded else text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number above 0")
    return (0.0, value) if recorded else (value, 0.0)


def list_of(kind: Callable[[str], Value]) -> Callable[[str], list[Value]]:
    """Make a reader of comma-separated values."""

    def read(text: str) -> list[Value]:
        return [kind(piece.strip()) for piece in text.split(",")]

    return read
