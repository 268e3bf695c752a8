"""Setting as data: its name, kind and bounds, and how to read a value from a form, JSON or the command line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from decoding.errors import BadStrategy

Value = int | float | bool | str
LONGEST_TEXT = 500
YES, NO = ("true", "yes", "1"), ("false", "no", "0")


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    kind: Literal["int", "float", "bool", "choice", "text"]
    default: Value
    help: str
    low: float = -math.inf
    high: float = math.inf
    choices: tuple[str, ...] = ()
    short: str = ""  # another spelling on the command line
    word: str = ""  # that a number may be instead
    sets_apart: bool = False  # settings that differ in it are planned each for itself

    def read(self, value: object) -> Value:
        """Read a value from a form, JSON or the command line. Raises BadStrategy with the reason if it does not
        fit."""
        try:
            parsed = self._parse(value)
        except ValueError as error:
            raise BadStrategy(f"{self.name} is {value!r}, which is {error}") from None
        if isinstance(parsed, (int, float)) and not self.low <= parsed <= self.high:
            raise BadStrategy(f"{self.name} is {value!r}, outside {self.low:g} to {self.high:g}")
        return parsed

    def _parse(self, value: object) -> Value:
        """Read a value, whatever its bounds. The text of a ValueError says what it is not."""
        if self.word and value == self.word:
            return self.word
        match self.kind:
            case "bool":
                return _known(str(value).lower(), YES + NO, "neither true nor false") in YES
            case "choice":
                return _known(str(value), self.choices, f"not one of {', '.join(self.choices)}")
            case "text":
                return _text(value)
            case "int":
                return _whole(value, f"neither a whole number nor {self.word}" if self.word else "not a whole number")
            case _:
                return _number(value, "not a number")


def _known(value: str, allowed: Sequence[str], otherwise: str) -> str:
    if value not in allowed:
        raise ValueError(otherwise)
    return value


def _number(value: object, otherwise: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise ValueError(otherwise)
    try:
        return float(value)
    except (ValueError, OverflowError):
        raise ValueError(otherwise) from None


def _whole(value: object, otherwise: str) -> int:
    number = _number(value, otherwise)
    if not number.is_integer():  # false for infinities and NaN too
        raise ValueError(otherwise)
    return int(number)


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise ValueError(f"not a text of at most {LONGEST_TEXT} characters")
    return value
