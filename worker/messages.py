"""What a worker and its engine process tell each other. Both are of one version, so these travel as they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from decoding.events import Event
from decoding.prompts import Prompt
from decoding.spec import Choice, Sampling
from decoding.summary import Sample

# Which sample: strategy's label, prompt's id, repeat.
Which = tuple[str, str, int]


# To the engine -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckModel:
    """Can this folder be run?"""

    folder: Path


@dataclass(frozen=True, slots=True)
class CountTokens:
    """How many tokens has each text, by the target's tokenizer?"""

    target: Path
    draft: Path
    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class PairPlace:
    """Where a pair lies on this machine, and where it is to run."""

    target: Path
    draft: Path
    device: str
    classifiers: Mapping[str, Path]  # by the names that strategies call them


@dataclass(frozen=True, slots=True)
class Compare:
    pair: PairPlace
    prompts: Sequence[Prompt]
    choices: Sequence[Choice]
    sampling: Sampling
    repeats: int
    settled: frozenset[tuple[str, int]]  # prompt's id and repeat: nothing is left to do for these
    finished: Sequence[Sample]  # of the prompts that are not settled: decoded before, by this attempt or another
    given_up: frozenset[Which]  # these broke, and are not tried again


@dataclass(frozen=True, slots=True)
class Train:
    """Make a classifier for a pair and leave it in a folder."""

    pair: PairPlace
    prompts: Sequence[Prompt]
    sampling: Sampling
    folder: Path


@dataclass(frozen=True, slots=True)
class AskOracle:
    """How long drafts ought to be on these prompts."""

    pair: PairPlace
    prompts: Sequence[Prompt]
    sampling: Sampling
    lookahead: int  # the static one to draw beside


@dataclass(frozen=True, slots=True)
class MakePlan:
    """Which settings suit the pair on these prompts. With the first of its classifiers DISCO runs; all are judged."""

    pair: PairPlace
    prompts: Sequence[Prompt]
    sampling: Sampling


@dataclass(frozen=True, slots=True)
class Cancel:
    """After the current round."""


@dataclass(frozen=True, slots=True)
class StillHere:
    """The worker lives. An engine that does not hear this for a while ends: nobody would read what it makes."""


Order = CheckModel | CountTokens | Compare | Train | AskOracle | MakePlan | Cancel | StillHere


# From the engine -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Checked:
    facts: dict[str, object]


@dataclass(frozen=True, slots=True)
class Counted:
    lengths: Sequence[int]
    contexts: tuple[int | None, int | None]  # what target and draft can hold, where they say so


@dataclass(frozen=True, slots=True)
class Loaded:
    """The pair is resident; what runs each strategy, and on what."""

    hardware: dict[str, object]
    runners: dict[str, str]


@dataclass(frozen=True, slots=True)
class Began:
    """This sample is being decoded from now on: if the engine dies, this is whom it costs."""

    which: Which


@dataclass(frozen=True, slots=True)
class Grew:
    """More of a sample's trace. `first_seq` starts at 1 and leaves no hole."""

    which: Which
    first_seq: int
    events: Sequence[Event]
    words: Mapping[int, str]  # token id to text, for tokens that the sample's trace had not shown before
    since_ns: int | None = None  # when the first of these events happened, on the clock of this machine


@dataclass(frozen=True, slots=True)
class Decoded:
    """A sample is complete; all of its trace was sent before this."""

    sample: Sample
    last_seq: int


@dataclass(frozen=True, slots=True)
class Broke:
    """A sample could not be decoded."""

    which: Which
    sentence: str


@dataclass(frozen=True, slots=True)
class Audited:
    """The samples of one prompt, each compared with autoregressive's."""

    samples: Sequence[Sample]


@dataclass(frozen=True, slots=True)
class Step:
    """How far a study or a training is: so many of so many in this phase, and in samples decoded on the whole."""

    phase: str
    done: int
    due: int
    detail: str
    numbers: Mapping[str, float]  # an epoch's losses and the like, to be drawn
    whole: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Trained:
    """The classifier lies where it was ordered to, its card beside it."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a study has found: a document with its format's name and version."""

    document: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Failed:
    """The order cannot be carried out."""

    sentence: str
    code: str  # of DrafthouseError; "internal" for an error of our own


@dataclass(frozen=True, slots=True)
class Ended:
    """The order is carried out, or was cancelled."""


Report = Checked | Counted | Loaded | Began | Grew | Decoded | Broke | Audited | Step | Trained | Found | Failed | Ended
