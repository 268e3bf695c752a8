"""One attempt at a job: the tools that the module of its kind works with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from decoding.errors import BadCheckpoint, BadDevice, DrafthouseError, OutOfMemory
from webapp.core import tallies
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry.models import LanguageModel, Pair
from webapp.studies.models import Classifier
from worker import database, materials
from worker.database import Stopped
from worker.disk import DISK_FULL, NotNow, tells_of_full_disk
from worker.engine_process import EngineDied, EngineProcess
from worker.materials import NotHere
from worker.memory import OverLimit, limit
from worker.messages import AtWork, Ended, Failed, JobProgress, LocalPair, Order, Reply
from worker.pulse import Hold
from worker.spent import OverTime, ProcessTime

T = TypeVar("T")
R = TypeVar("R", bound=Reply)
WRITE_EVERY = 0.2  # s: each round's worth of progress need not be written
EPOCHS_A_LINE = 10
MIB = 2**20
TIME_TO_LOAD = 1800.0  # s until the first word: a large model comes from a slow disk
TIME_TO_CANCEL = 0.5  # s for the flag, which is looked at before every round; then TERM, then KILL
NEEDS_ANOTHER_MACHINE = {OutOfMemory.code, BadDevice.code}


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

    def replies(self, order: Order) -> Iterator[Reply]:
        """Have the engine carry out an order. Write down how far it is, and yield its other replies."""
        try:
            for reply in replies_to(self.hold, self.engine, order):
                if isinstance(reply, JobProgress):
                    self.record(reply)
                else:
                    yield reply
        except (EngineDied, OverLimit) as death:
            cause = "memory" if isinstance(death, OverLimit) else "counted" if death.counts else "outside"
            self.insist(lambda: tallies.add(tallies.ENGINE_DEATHS, self.job.kind, cause))
            raise

    def answer(self, order: Order, kind: type[R]) -> R:
        """Have the engine carry out an order, and return its one reply of this kind."""
        [answer] = [reply for reply in self.replies(order) if isinstance(reply, kind)]
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


def replies_to(hold: Hold, engine: EngineProcess, order: Order) -> Iterator[Reply]:
    """Give the engine an order and yield its replies, until it ends, it dies, or the worker must put the job down."""
    hush(engine)
    engine.submit(order, limit(order.memory()))
    silence = SilenceLimit(engine, order)
    while True:
        reply = engine.receive(0.1)
        if not hold.may_go_on():
            yield from _last_words(engine, reply)
            raise Stopped
        silence.goes_on() if reply is None else silence.ends()
        match reply:
            case None | AtWork():
                continue
            case Ended():
                return
            case Failed():
                raise _refusal(reply.code, hold.in_words(reply.sentence), order)
            case _:
                yield reply


class SilenceLimit:
    """Waits for the engine's next word as long as its order deserves, by the processor time that the engine gets: on a
    busy machine a sound engine is silent many times as long."""

    def __init__(self, engine: EngineProcess, order: Order) -> None:
        self._engine, self._opens_within_s = engine, order.opens_within_s
        self._has_spoken = False
        self._spent: ProcessTime | None = None  # since it fell silent

    def ends(self) -> None:
        self._has_spoken, self._spent = True, None

    def goes_on(self) -> None:
        """Refuse files on which the engine works too long: another try would take as long. Give up an engine that says
        nothing."""
        self._spent = spent = self._spent or ProcessTime(self._engine.pid, 0.0)
        spent.seconds = self._opens_within_s or (self._engine.patience if self._has_spoken else TIME_TO_LOAD)
        if spent.is_over and self._opens_within_s:
            self._engine.end()
            raise OverTime("Opening these files", spent.seconds)
        if spent.is_stuck or (not self._opens_within_s and spent.has_had_its_time):
            raise self._engine.give_up(spent)


def hush(engine: EngineProcess) -> None:
    """Have a busy engine drop its order: nobody listens any more, and its replies must not be taken for the next
    order's."""
    with suppress(EngineDied):
        for _ in _last_words(engine, None) if engine.is_busy else ():
            pass


def _last_words(engine: EngineProcess, reply: Reply | None) -> Iterator[Reply]:
    """Ask the engine to cancel, and end it if it does not. An engine that cancels keeps its models."""
    engine.cancel()
    deadline = time.monotonic() + TIME_TO_CANCEL
    while time.monotonic() < deadline:
        if isinstance(reply, (Ended, Failed)):
            return
        if reply is not None:
            yield reply
        reply = engine.receive(0.05)
    engine.end()


def _refusal(code: str, sentence: str, order: Order) -> Exception:
    if code in NEEDS_ANOTHER_MACHINE:
        return NotHere(sentence)
    if tells_of_full_disk(sentence):
        return NotNow(DISK_FULL)
    if code == BadCheckpoint.code and not order.judges_models:
        return NotHere(sentence)  # it was found to be sound, so it is this machine that cannot load it
    return DrafthouseError(sentence)
