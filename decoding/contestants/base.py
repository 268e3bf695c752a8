"""Contestant and Request: a contestant decodes requests. Standard library only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from decoding.ending import Decoded, Ending
from decoding.events import EventSink

if TYPE_CHECKING:  # decoding.spec scans the contestants
    from decoding.spec import Choice, Sampling


@dataclass(frozen=True)
class Request:
    """One text to continue, and how."""

    choice: Choice
    prompt: Sequence[int]
    sampling: Sampling
    seed: int
    ending: Ending


SinkFor = Callable[[Request], EventSink]


class Contestant(ABC):
    """Somebody who decodes requests. Nothing but this class knows who it is."""

    @abstractmethod
    def run(
        self, requests: Sequence[Request], sink_for: SinkFor, cancelled: Callable[[], bool]
    ) -> Iterator[tuple[Request, Decoded]]:
        """Decode the requests, and yield each with its text when that is complete: many at once and in any order, if
        the contestant can.

        A request's sink gets Started first and Finished last. A contestant that knows its rounds tells them in
        between; one that does not tells nothing.
        """

    @abstractmethod
    def runner(self, choice: Choice) -> str:
        """Name the software that runs the models, for results."""

    @abstractmethod
    def hardware(self, choice: Choice) -> str:
        """Describe what the choice has to itself, for people."""

    def must_match(self, sampling: Sampling) -> bool:
        """Say if its texts must be autoregressive's, token for token. If so, they are audited."""
        return sampling.is_greedy

    def begin(self, choices: Sequence[Choice]) -> None:  # noqa: B027  most need nothing
        """Start what these choices need besides the models. Refuse, in a sentence, what this machine cannot run."""

    def close(self) -> None:  # noqa: B027  most hold nothing
        """End what was started."""
