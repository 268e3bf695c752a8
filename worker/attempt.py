"""One attempt at a job: the tools that the module of its kind works with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from webapp.core import tallies
from webapp.jobs.models import Job
from webapp.registry.models import LanguageModel, Pair
from webapp.studies.models import Classifier
from worker import database, listening, materials
from worker.engine_process import EngineDied, EngineProcess
from worker.memory import OverLimit
from worker.messages import JobProgress, LocalPair, Order, Report
from worker.pulse import Hold
from worker.steps import StepLog

T = TypeVar("T")


class Attempt:
    def __init__(self, hold: Hold, engine: EngineProcess) -> None:
        self.hold = hold
        self.engine = engine
        self._steps = StepLog(hold)

    @property
    def job(self) -> Job:
        return self.hold.job

    def insist(self, access: Callable[[], T]) -> T:
        """Read or write the database. While it is away, try again, as long as the job is ours."""
        return database.insist(self.hold, access)

    def reports(self, order: Order) -> Iterator[Report]:
        """Have the engine carry out an order, and yield its reports."""
        try:
            yield from listening.reports(self.hold, self.engine, order)
        except (EngineDied, OverLimit) as death:
            cause = "memory" if isinstance(death, OverLimit) else "counted" if death.counts else "outside"
            self.insist(lambda: tallies.add(tallies.ENGINE_DEATHS, self.job.kind, cause))
            raise

    def folder_of(self, model: LanguageModel, on_progress: materials.OnProgress = materials.ignore) -> Path:
        """Bring a model here. `on_progress` hears how many bytes of how many."""
        return self.insist(lambda: materials.folder_of(self.hold, model, on_progress))

    def local_pair(self, pair: Pair, classifiers: Iterable[Classifier] = ()) -> LocalPair:
        """Bring a pair here."""
        return self.insist(lambda: materials.local_pair(self.hold, pair, classifiers))

    def progress(self, done: int, total: int) -> None:
        self.hold.progress(done, total)

    def record(self, step: JobProgress) -> None:
        """Write how far the engine is."""
        self._steps.write(step)
