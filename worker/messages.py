"""Messages between a worker and its engine process. Both are of one version, so they travel as they are. Those that one
kind of job needs stand in its module in `worker/jobs`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from decoding.prompts import Prompt
from decoding.spec import Choice, Sampling
from worker.memory import run_size

if TYPE_CHECKING:
    from worker.engine.residents import Residents  # loads torch

Say = Callable[["Report"], None]
Cancelled = Callable[[], bool]


# To the engine -------------------------------------------------------------------------------------------------------


class Order(ABC):
    """Data for a piece of work, and how the engine does it."""

    opens_within_s: ClassVar[float | None] = None  # an order that only opens files and takes longer is refused for good
    judges_models: ClassVar[bool] = False  # whether a model loads is the question; elsewhere it has been answered

    @abstractmethod
    def carry_out(self, residents: Residents, say: Say, cancelled: Cancelled) -> None:
        """Do it, in the engine. Torch may be imported here."""

    def memory(self) -> int:
        """Bytes that it can need beside the engine's headroom."""
        return 0


@dataclass(frozen=True, slots=True)
class PairPlace:
    """Where a pair lies on this machine, and where it is to run."""

    target: Path
    draft: Path
    device: str
    classifiers: Mapping[str, Path]  # by the names that strategies call them


@dataclass(frozen=True, slots=True)
class PairOrder(Order):
    """Order to run a pair on prompts."""

    pair: PairPlace
    prompts: Sequence[Prompt]
    sampling: Sampling

    def memory(self) -> int:
        return self.memory_to_run(is_recorded=True)

    def memory_to_run(self, choices: Sequence[Choice] = (), *, is_recorded: bool = False) -> int:
        texts = [prompt.text for prompt in self.prompts]
        pair = (self.pair.target, self.pair.draft)
        return run_size(pair, texts, self.sampling.max_new_tokens, choices, is_recorded=is_recorded)


@dataclass(frozen=True, slots=True)
class Cancel:
    """After the current round."""


@dataclass(frozen=True, slots=True)
class StillHere:
    """The worker lives. An engine that does not hear this for a while ends: nobody would read what it makes."""


# From the engine -----------------------------------------------------------------------------------------------------


class Report:
    """What the engine says while it carries out an order."""


@dataclass(frozen=True, slots=True)
class Loaded(Report):
    """The pair is resident; what runs each strategy, and on what."""

    hardware: dict[str, object]
    runners: dict[str, str]


@dataclass(frozen=True, slots=True)
class Step(Report):
    """How far a study or a training is: so many of so many in this phase, and in samples decoded on the whole."""

    phase: str
    done: int
    due: int
    detail: str
    numbers: Mapping[str, float]  # an epoch's losses and the like, to be drawn
    whole: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Found(Report):
    """What a study has found: a document with its format's name and version."""

    document: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Failed(Report):
    """The order cannot be carried out."""

    sentence: str
    code: str  # of DrafthouseError; "internal" for an error of our own


@dataclass(frozen=True, slots=True)
class Ended(Report):
    """The order is carried out, or was cancelled."""
