"""Dialect: how one kind of server is asked, and how its stream is read. Standard library only."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from decoding.errors import BadServer, ServerFailed
from decoding.trace.events import FinishReason, Reported

if TYPE_CHECKING:
    from decoding.backends.contestants.base import Request
    from decoding.dice.sampling import Sampling

LARGEST = 2**31 - 1  # of any number; databases hold no larger one in a column of whole numbers
LONGEST_DRAFT = 1024  # tokens that one verification may read

POSITION = re.compile(r'[{,]position="(\d{1,4})"')

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Piece:
    """Content of one event of a stream. Empty fields bring nothing."""

    tokens: tuple[int, ...] = ()
    text: str = ""
    total: int | None = None  # tokens generated so far, as far as the server counts along
    finish: FinishReason | None = None
    report: Reported | None = None
    is_same_step: bool = False  # its tokens come from the same verification as the last piece's


class EventReader(ABC):
    """Reads the stream of one request. Subclasses keep what they need to remember between events."""

    @abstractmethod
    def piece(self, event: Json) -> Piece:
        """Read one event."""


class Dialect(ABC):
    name: ClassVar[str]
    title: ClassVar[str]
    programs: ClassVar[tuple[str, ...]] = ()  # commands that start such a server
    route: ClassVar[str]
    reader: ClassVar[type[EventReader]]
    health: ClassVar[str] = "/health"
    lists: ClassVar[str] = "/v1/models"  # route that lists what the server serves
    takes_ids: ClassVar[bool]  # whether the prompt goes as token ids
    cache: ClassVar[str]  # how its prefix cache is kept out, in words
    goes_past_end: ClassVar[bool] = True  # whether a request can ask to ignore the end token
    metrics: ClassVar[Mapping[str, str]] = {}  # our name of a count -> their counter at /metrics
    accepted_at: ClassVar[str] = ""  # their counter at /metrics of accepted tokens, with a label `position`

    @abstractmethod
    def body(self, request: Request, model: str) -> Json:
        """Make the request's body. `model` is its name on the server."""

    def names(self, listed: Json) -> list[str]:
        """Read the names of the models from the answer of the route that lists them; usual is the form of OpenAI."""
        data = listed.get("data")
        return [text_of(table(one).get("id")) for one in data] if isinstance(data, list) else []

    def require(self, sampling: Sampling) -> None:
        """Refuse sampling that a request cannot ask for."""
        if sampling.ignore_eos and not self.goes_past_end:
            raise BadServer(
                f"{self.title} has no field to ignore the end token. Leave out --ignore-eos, or leave this server out."
            )

    def model_in(self, command: Sequence[str]) -> str:
        """Find the model's name in the command that starts the server, if the server does not tell it."""
        return ""


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
