"""Compare strategies on prompts: order what is missing, write down what the engine reports, go on after it died."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from decoding.errors import DrafthouseError
from decoding.events import Event
from decoding.spec import Choice
from decoding.summary import Sample
from webapp.comparisons.kinds import COMPARISON
from worker.engine_process import EngineDied
from worker.messages import Cancelled, PairOrder, Report, Say

if TYPE_CHECKING:
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = COMPARISON

# Which sample: strategy's label, prompt's id, repeat.
Which = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Compare(PairOrder):
    choices: Sequence[Choice]
    repeats: int
    settled: frozenset[tuple[str, int]]  # prompt's id and repeat: nothing is left to do for these
    finished: Sequence[Sample]  # of the prompts that are not settled: decoded before, by this attempt or another
    given_up: frozenset[Which]  # these broke, and are not tried again

    def carry_out(self, residents: Residents, say: Say, cancelled: Cancelled) -> None:
        from worker.engine.comparing import compare

        compare(self, residents, say, cancelled)

    def memory(self) -> int:
        return self.memory_to_run(self.choices)


@dataclass(frozen=True, slots=True)
class Began(Report):
    """The engine begins to decode this sample. If the engine dies, the sample is lost."""

    which: Which


@dataclass(frozen=True, slots=True)
class Grew(Report):
    """More of a sample's trace. `first_seq` starts at 1 and leaves no hole."""

    which: Which
    first_seq: int
    events: Sequence[Event]
    words: Mapping[int, str]  # token id to text, for tokens that the sample's trace had not shown before
    since_ns: int | None = None  # when the first of these events happened, on the clock of this machine


@dataclass(frozen=True, slots=True)
class Decoded(Report):
    """A sample is complete; all of its trace was sent before this."""

    sample: Sample
    last_seq: int


@dataclass(frozen=True, slots=True)
class Broke(Report):
    """A sample could not be decoded."""

    which: Which
    sentence: str


@dataclass(frozen=True, slots=True)
class Audited(Report):
    """The samples of one prompt, each compared with autoregressive's."""

    samples: Sequence[Sample]


class SomeBroke(DrafthouseError):
    """The rest is done; the message names the first that could not be decoded, and why."""

    code = "samples-broke"


def work(attempt: Attempt) -> None:
    """Decode all samples but those that break. A sample that the engine reports as broken, or that has killed it
    twice, is given up. In the end the job fails and names what is missing; trying again decodes only that."""
    from worker.comparison_rows import ComparisonRows

    rows = attempt.insist(lambda: ComparisonRows(attempt))
    try:
        while order := attempt.insist(rows.order):
            try:
                for report in attempt.reports(order):
                    rows.note(report)
            except EngineDied as death:
                rows.engine_died(death)
    finally:
        if not attempt.hold.is_lost:
            attempt.insist(rows.drop_unfinished)
    if rows.broken:
        raise SomeBroke(rows.what_broke())
