"""Messages between worker and engine about a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from decoding.backends.contestants.servers.endpoint import Reach
from decoding.choice import Choice
from decoding.measure.sample import SampleResult
from decoding.trace.events import Event
from worker.messages import LocalPair, PairOrder, Reply

NO_SERVERS = Reach()

READING, WARMING, WEIGHING = "reading prompts", "warming up", "measuring costs"  # phases before the first sample

# Id of a sample: strategy's label, prompt's id, repeat.
SampleId = tuple[str, str, int]


def called(which: SampleId) -> str:
    label, prompt, repeat = which
    return f"{label} on prompt {prompt}" + (f", repeat {repeat + 1}" if repeat else "")


@dataclass(frozen=True, slots=True)
class ToCompare(PairOrder):
    """Samples that are missing, and what they are decoded with."""

    pair: LocalPair | None  # type: ignore[assignment]  # None: servers run alone
    choices: Sequence[Choice]
    repeats: int
    done_heats: frozenset[tuple[str, int]] = frozenset()  # prompt's id and repeat: nothing is left to do for these
    finished: Sequence[SampleResult] = ()  # of other heats, decoded before, by any attempt
    given_up: frozenset[SampleId] = frozenset()  # these broke, and are not tried again
    prices: Mapping[str, Any] = field(default_factory=dict)  # of its classifiers, as an earlier engine weighed them
    servers: Reach = NO_SERVERS  # those that the choices name
    needs_servers: bool = False  # whether a server that cannot be met ends it, and not only its own samples
    is_traced: bool = True  # whether anybody reads the samples' events

    def memory(self) -> int:
        return self.memory_to_run(self.choices) if self.pair else 0


@dataclass(frozen=True, slots=True)
class Weighed(Reply):
    """Prices of the comparison's classifiers, by name: every sample uses them."""

    prices: Mapping[str, Any]
    trouble: str = ""  # why some could not be weighed: for the job's log


@dataclass(frozen=True, slots=True)
class Tuned(Reply):
    """The hardware of `PairLoaded`, with what the warm-up has chosen on it."""

    hardware: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Began(Reply):
    """The engine begins to decode this sample. If the engine dies, the sample is lost."""

    which: SampleId


@dataclass(frozen=True, slots=True)
class Grew:
    """More of a sample's trace. `first_seq` starts at 1 and leaves no hole."""

    which: SampleId
    first_seq: int
    events: Sequence[Event]
    words: Mapping[int, str]  # token id to text, for tokens that the sample's trace had not shown before
    since_ns: int  # when the first of these events happened, on the clock of this machine


@dataclass(frozen=True, slots=True)
class TracesGrown(Reply):
    """More of the traces of all samples that are being decoded."""

    traces: Sequence[Grew]


@dataclass(frozen=True, slots=True)
class SampleDecoded(Reply):
    """A sample is complete; all of its trace was sent before this."""

    sample: SampleResult
    last_seq: int


@dataclass(frozen=True, slots=True)
class Broke(Reply):
    """Samples cannot be decoded, all for one reason."""

    samples: Sequence[SampleId]
    sentence: str


@dataclass(frozen=True, slots=True)
class Audited(Reply):
    """The samples of a whole group, each compared with autoregressive's."""

    samples: Sequence[SampleResult]
