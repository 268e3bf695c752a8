"""Dialect: how one kind of server is asked, and how its stream is read. Standard library only.

A module of this package defines `DIALECT`. To add one, subclass Dialect, or OpenAI's in `openai.py`.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from decoding.dice.sampling import Sampling
from decoding.errors import BadServer, ServerFailed
from decoding.trace.events import FinishReason, Reported

LARGEST = 2**31 - 1  # of any number; databases hold no larger one in a column of whole numbers
LONGEST_DRAFT = 1024  # tokens that one verification may read

POSITION = re.compile(r'[{,]position="(\d{1,4})"')

Json = dict[str, Any]
Speculation = Literal["as-started", "on", "off"]


@dataclass(frozen=True, slots=True)
class Ask:
    """One text to continue, as every dialect's request is made from."""

    model: str
    prompt: Sequence[int]  # empty if nobody here has the tokenizer
    text: str
    sampling: Sampling
    seed: int
    salt: str  # new for each request: dialects that take it cannot use another request's prefix
    speculation: Speculation = "as-started"


@dataclass(frozen=True, slots=True)
class Piece:
    """Content of one event of a stream. Empty fields bring nothing."""

    tokens: tuple[int, ...] = ()
    text: str = ""
    total: int | None = None  # tokens generated so far, as far as the server counts along
    finish: FinishReason | None = None
    report: Reported | None = None
    is_same_step: bool = False  # its tokens come from the same verification as the last piece's


NOTHING = Piece()


class EventReader:
    """Reads the stream of one request. Subclasses keep what they need to remember between events."""

    def piece(self, event: Json) -> Piece:
        raise NotImplementedError


class Dialect(ABC):
    name: ClassVar[str]
    title: ClassVar[str]
    met: ClassVar[str]  # the real server that it was tried with; empty if its documents are all we had
    programs: ClassVar[tuple[str, ...]] = ()  # commands that start such a server
    route: ClassVar[str]
    health: ClassVar[str] = "/health"
    takes_ids: ClassVar[bool]  # whether the prompt goes as token ids
    cache: ClassVar[str]  # how its prefix cache is kept out, in words
    switches: ClassVar[bool] = False  # whether a request can switch speculation
    goes_past_end: ClassVar[bool] = True  # whether a request can ask to ignore the end token
    tokenizes: ClassVar[str] = ""  # route that cuts a text into ids, for a dialect that takes text
    metrics: ClassVar[Mapping[str, str]] = {}  # our name of a count -> their counter at /metrics
    accepted_at: ClassVar[str] = ""  # their counter at /metrics of accepted tokens, with a label `position`

    @abstractmethod
    def body(self, ask: Ask) -> Json:
        """Make the request's body."""

    @abstractmethod
    def reading(self, ask: Ask) -> EventReader:
        """Make the reader of the request's stream."""

    def require(self, sampling: Sampling) -> None:
        """Refuse sampling that a request cannot ask for."""
        if sampling.ignore_eos and not self.goes_past_end:
            raise BadServer(
                f"{self.title} has no field to ignore the end token. Leave out --ignore-eos, or leave this server out."
            )

    def cut(self, text: str) -> Json:
        """Make the body of a request that cuts a text into ids."""
        raise NotImplementedError

    def cut_ids(self, answer: Any) -> tuple[int, ...]:
        """Read the ids from the answer to that request."""
        raise NotImplementedError

    def model_in(self, command: Sequence[str]) -> str:
        """Find the model's name in the command that starts the server, if the server does not tell it."""
        return ""

    @abstractmethod
    def models(self) -> str:
        """Return the route that lists what the server serves."""

    @abstractmethod
    def names(self, listed: Json) -> list[str]:
        """Read the names of the models from the answer of that route."""


def refuse(event: Json) -> None:
    """Raise ServerFailed if the event is an error. Servers send errors in the middle of a stream too."""
    error = event.get("error")
    if error:
        told = error.get("message", error) if isinstance(error, Mapping) else error
        raise ServerFailed(f"The server broke off with an error: {str(told)[:300]}")


def number(value: object) -> float | None:
    """Read a number that is not negative; None if it is none, or larger than any that a server has to tell."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if 0 <= value <= LARGEST else None


def whole(value: object) -> int | None:
    """Read a count; None if it is none."""
    found = number(value)
    return int(found) if found is not None and found.is_integer() else None


def ids(value: object) -> tuple[int, ...]:
    """Read token ids; refuse what is none."""
    if value is None:
        return ()
    listed = value if isinstance(value, list) else [None]
    found = [token for one in listed if (token := whole(one)) is not None]
    if len(found) < len(listed):
        raise ServerFailed("The server sent token ids that are not whole numbers, so its answer cannot be read.")
    return tuple(found)


def histogram(value: object) -> tuple[int, ...]:
    """Read how many verifications accepted 0, 1, 2, … tokens; empty if it is nothing of that kind."""
    if not isinstance(value, list) or len(value) > LONGEST_DRAFT + 1:
        return ()
    return tuple(whole(count) or 0 for count in value)


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def table(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def counters(exposition: str, names: Iterable[str]) -> dict[str, float]:
    """Sum the counters of these names over all labels but `position`, which stands behind the name, from Prometheus'
    text format. One that is missing or no finite number is left out."""
    found: dict[str, float] = {}
    wanted = set(names)
    for line in exposition.splitlines():
        name = line.partition("{")[0].partition(" ")[0]
        if name in wanted:
            if position := POSITION.search(line):
                name = f"{name} {position[1]}"
            try:
                found[name] = found.get(name, 0.0) + float(line.rpartition("}")[2].split()[0 if "}" in line else 1])
            except (ValueError, IndexError):
                continue
    return {name: value for name, value in found.items() if math.isfinite(value)}
