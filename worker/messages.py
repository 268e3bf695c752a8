"""Messages between a worker and its engine process. Both are of one version, so they travel as they are. Those that one
kind of job needs stand in its module in `worker/jobs`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from decoding.choice import Choice
from decoding.dice.sampling import Sampling
from decoding.errors import DrafthouseError
from decoding.models.folder import ModelFolder, inspect
from decoding.prompts.prompt import PromptItem
from worker.memory import lengths_of, run_size

if TYPE_CHECKING:
    from worker.engine.residents import Residents  # loads torch

Emit = Callable[["Reply"], None]
Cancelled = Callable[[], bool]
NEXT = "\x1e next order"  # line between the engine's outputs in two orders


# To the engine -------------------------------------------------------------------------------------------------------


class Order(ABC):
    """Data for a piece of work, and how the engine does it."""

    # seconds of processor time; an order that only opens files and takes longer is refused for good
    opens_within_s: ClassVar[float | None] = None
    judges_models: ClassVar[bool] = False  # whether a model loads is the question; elsewhere it has been answered

    @abstractmethod
    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        """Do it. The engine calls this, so it may import torch."""

    def memory(self) -> int:
        """Bytes of memory that the order can need, on top of the headroom that every order has."""
        return 0


@dataclass(frozen=True)
class LocalPair:
    """Folders of a pair on this machine, and the device to run it on."""

    target: Path
    draft: Path | None
    device: str
    classifiers: Mapping[str, Path]  # by the names that strategies call them
    other_tokenizer: str = "auto"  # how a draft with another tokenizer drafts: one of METHODS
    dtype: str = "auto"
    runner: str = "auto"

    @property
    def folders(self) -> tuple[Path, ...]:
        return (self.target, self.draft) if self.draft else (self.target,)

    @cached_property
    def models(self) -> tuple[ModelFolder, ...]:
        """Facts of the folders. Whoever asks first reads them, and an order takes them along to the engine."""
        return tuple(map(inspect, self.folders))


@dataclass(frozen=True, slots=True)
class PairOrder(Order):
    """Order to run a pair on prompts."""

    pair: LocalPair
    prompts: Sequence[PromptItem]
    sampling: Sampling

    def memory(self) -> int:
        return self.memory_to_run(is_recorded=True)

    def memory_to_run(self, choices: Sequence[Choice] = (), *, is_recorded: bool = False) -> int:
        new_tokens = self.sampling.max_new_tokens
        lengths = lengths_of(self.prompts, new_tokens)
        try:
            models = self.pair.models
        except DrafthouseError:  # whoever loads them says why
            models = ()
        return run_size(models, lengths, new_tokens, choices, is_recorded=is_recorded)


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop after the current round."""


@dataclass(frozen=True, slots=True)
class StillHere:
    """Sign of life of the worker. An engine that does not hear it for a while ends: nobody would read its replies."""


# From the engine -----------------------------------------------------------------------------------------------------


class Reply:
    """Message of the engine while it carries out an order."""


@dataclass(frozen=True, slots=True)
class AtWork(Reply):
    """Sign of life: the engine works on, and has nothing to tell."""


@dataclass(frozen=True, slots=True)
class PairLoaded(Reply):
    """The pair is in memory. Says which runner runs each strategy, on which hardware."""

    hardware: dict[str, Any]
    runners: dict[str, str] = field(default_factory=dict)  # by label
    serves: dict[str, str] = field(default_factory=dict)  # models, by the server's name
    draft_left_out: str = ""  # as of the pair
    models: Mapping[str, Any] | None = None  # by role; None: servers alone
    remarks: Sequence[str] = ()  # what fits, but not quite
    warnings: Sequence[str] = ()  # classifiers of another sampling or machine


@dataclass(frozen=True, slots=True)
class JobProgress(Reply):
    """Progress in this phase, and of a study or a training in samples decoded on the whole."""

    phase: str
    done: int
    due: int
    detail: str = ""
    numbers: Mapping[str, float] = field(default_factory=dict)  # an epoch's losses and the like, to be drawn
    whole: tuple[int, int] | None = None
    is_counted: bool = False  # whether this phase decodes samples of the whole


@dataclass(frozen=True, slots=True)
class Found(Reply):
    """Document of a finished study, with its format's name and version."""

    document: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Failed(Reply):
    """The order cannot be carried out."""

    sentence: str
    code: str  # of DrafthouseError; "internal" for an error of our own


@dataclass(frozen=True, slots=True)
class Ended(Reply):
    """The order is carried out, or was cancelled."""
