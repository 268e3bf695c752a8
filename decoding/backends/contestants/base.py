"""Contestant, which decodes requests, and Backend, which knows the contestants. Standard library only."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from decoding.core.ending import Decoded, Ending
from decoding.core.load import ONE, Load
from decoding.errors import BrokenModel
from decoding.trace.events import EventSink

if TYPE_CHECKING:  # decoding.choice imports the contestants
    import torch

    from decoding.choice import Choice
    from decoding.dice.sampling import Sampling
    from decoding.models.runner import ModelRunner
    from decoding.models.tokenizer_files import Tokenizer
    from decoding.prompts.chat.renderer import Renderer


@dataclass(frozen=True, eq=False)
class Request:
    """One text to continue, and how."""

    choice: Choice
    prompt: Sequence[int]
    sampling: Sampling
    seed: int
    ending: Ending
    text: str = ""  # the prompt, for a contestant that takes no token ids
    longest: int = 0  # tokens of the longest text of its comparison, prompt and answer; 0: not known
    due_ns: int = 0  # when it arrives if the load is as recorded, since the load began


SinkFor = Callable[[Request], EventSink]
Answer = tuple[Request, Decoded | BrokenModel]  # the text, or why the request has none
Answers = Generator[Answer, None, None]


class Contestant(ABC):
    """Decodes requests. Callers know this interface and not the implementation behind it."""

    @abstractmethod
    def run(
        self, requests: Iterable[Request], sink_for: SinkFor, cancelled: Callable[[], bool], load: Load = ONE
    ) -> Answers:
        """Decode the requests as the load sends them. Yield each request with its text as soon as the text is complete,
        in any order. The requests may be endless: a caller that has what it wants closes the iterator.

        A request's sink gets Started first and Finished last. A contestant that knows its rounds emits their events in
        between; one that only sees tokens arrive emits Delivered; another contestant emits nothing there.
        """

    @abstractmethod
    def runner(self, choice: Choice) -> str:
        """Name the software that runs the models, for results."""

    @abstractmethod
    def hardware(self, choice: Choice, longest: int = 0) -> str:
        """Describe the hardware that the choice runs on, and why fewer requests are decoded together than its load asks
        for, if so. `longest` is the longest text's number of tokens."""

    def served_model(self, choice: Choice) -> str:
        """Name the model that a server serves the choice with, by its own list; empty if no server does."""
        return ""

    def server_dtype(self, choice: Choice) -> str:
        """Name the number format that a server decodes the choice in; empty if no server does."""
        return ""

    def must_match(self, sampling: Sampling) -> bool:
        """Whether its texts must equal autoregressive's, token for token. Drafthouse audits such texts."""
        return sampling.is_greedy

    def begin(self, choices: Sequence[Choice]) -> None:  # noqa: B027  most need nothing
        """Start what these choices need besides the models. Raise an error if this machine cannot run one."""

    def close(self) -> None:  # noqa: B027  most hold nothing
        """End what `begin` started."""


class Backend(ABC):
    """Models and contestants of a comparison: a pair in memory, or servers alone."""

    target: ModelRunner | None  # which audits need; None if servers run alone
    tokenizer: Tokenizer | None
    renderer: Renderer | None  # of chats by the target's template; None if servers run alone
    end_tokens: frozenset[int]
    dtype: torch.dtype

    @property
    @abstractmethod
    def vocab(self) -> int: ...

    @abstractmethod
    def contestant(self, choice: Choice) -> Contestant:
        """Return who runs the choice. Refuse a choice that cannot run here."""

    @abstractmethod
    def close(self) -> None:
        """End what `begin` started."""

    def begin(self, choices: Sequence[Choice]) -> None:
        """Start what the choices need besides the models. Refuse, in a sentence, what this machine cannot run."""
        found = [self.contestant(choice) for choice in choices]
        for one in dict.fromkeys(found):
            one.begin([choice for choice, other in zip(choices, found, strict=True) if other is one])

    def misfits(self, choices: Sequence[Choice], sampling: Sampling) -> list[str]:
        """Warn of each strategy whose classifier was trained for another sampling, or on another machine."""
        return []
