"""One attempt at a job: the tools that the module of its kind works with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from webapp.core import tallies
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry.models import LanguageModel, Pair
from webapp.studies.models import Classifier
from worker import database, engine_reports, materials
from worker.engine_process import EngineDied, EngineProcess
from worker.memory import OverLimit
from worker.messages import JobProgress, LocalPair, Order, Report
from worker.pulse import Hold

T = TypeVar("T")
R = TypeVar("R", bound=Report)
WRITE_EVERY = 0.2  # s: each round's worth of progress need not be written
EPOCHS_A_LINE = 10
MIB = 2**20


class Attempt:
    def __init__(self, hold: Hold, engine: EngineProcess) -> None:
        self.hold = hold
        self.engine = engine
        self._phase = ""
        self._since = 0.0  # when the phase began
        self._written = 0.0

    @property
    def job(self) -> Job:
        return self.hold.job

    def insist(self, access: Callable[[], T]) -> T:
        """Read or write the database. While it is away, try again, as long as the job is ours."""
        return database.insist(self.hold, access)

    def reports(self, order: Order) -> Iterator[Report]:
        """Have the engine carry out an order. Write down how far it is, and yield its other reports."""
        try:
            for report in engine_reports.reports(self.hold, self.engine, order):
                if isinstance(report, JobProgress):
                    self.record(report)
                else:
                    yield report
        except (EngineDied, OverLimit) as death:
            cause = "memory" if isinstance(death, OverLimit) else "counted" if death.counts else "outside"
            self.insist(lambda: tallies.add(tallies.ENGINE_DEATHS, self.job.kind, cause))
            raise

    def answer(self, order: Order, kind: type[R]) -> R:
        """Have the engine carry out an order, and return its one report of this kind."""
        [answer] = [report for report in self.reports(order) if isinstance(report, kind)]
        return answer

    def folder_of(self, model: LanguageModel) -> Path:
        """Bring a model here."""
        return self.insist(lambda: materials.folder_of(self.hold, model, self._bringing))

    def local_pair(self, pair: Pair, classifiers: Iterable[Classifier] = ()) -> LocalPair:
        """Bring a pair here."""
        return self.insist(lambda: materials.local_pair(self.hold, pair, classifiers, self._bringing))

    def _bringing(self, done: int, due: int) -> None:
        """Show how many bytes of a model are here."""
        if due >= MIB:
            self.record(JobProgress("bringing a model's files here, in MiB", done // MIB, due // MIB))

    def progress(self, done: int, total: int) -> None:
        self.hold.done, self.hold.total = done, total

    def record(self, step: JobProgress) -> None:
        """Write how far the engine is. The job's log gets the first step of a phase, and steps with numbers to draw."""
        now = time.monotonic()
        done, total = step.whole or (self.hold.done, self.hold.total)
        self.progress(done, total)
        is_new = step.phase != self._phase
        if is_new:
            self._phase, self._since = step.phase, now
            self.insist(lambda: jobs.reached(job=self.job, place=f"the phase “{step.phase}”"))
        if is_new or step.numbers:
            sentence = "" if step.numbers and step.done % EPOCHS_A_LINE else _sentence(step)
            numbers = {"phase": step.phase, "done": step.done, "due": step.due, **step.numbers}
            self.insist(lambda: jobs.note(job=self.job, sentence=sentence, numbers=numbers))
        if is_new or now - self._written > WRITE_EVERY or step.done == step.due:
            self._written = now
            reached = {"phase": step.phase, "done": step.done, "due": step.due, "is_counted": step.is_counted}
            reached["spent_s"] = round(now - self._since, 1)
            self.insist(lambda: jobs.renew(job=self.job, done=done, total=total, step=reached))


def _sentence(step: JobProgress) -> str:
    words = f"{step.phase[0].upper()}{step.phase[1:]}: {step.done} of {step.due}"
    return f"{words}, {step.detail}." if step.detail else f"{words}."
