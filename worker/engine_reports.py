"""Give the engine an order and read its reports, until it ends, it dies, or the worker must put the job down."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

from decoding.errors import BadCheckpoint, BadDevice, DrafthouseError, OutOfMemory
from worker.database import Stopped
from worker.disk import DISK_FULL, NotNow, tells_of_full_disk
from worker.engine_process import EngineDied, EngineProcess
from worker.materials import NotHere
from worker.memory import limit
from worker.messages import AtWork, Ended, Failed, Order, Report
from worker.pulse import Hold
from worker.spent import OverTime, ProcessTime

TIME_TO_LOAD = 1800.0  # s until the first word: a large model comes from a slow disk
TIME_TO_CANCEL = 0.5  # s for the flag, which is looked at before every round; then TERM, then KILL
NEEDS_ANOTHER_MACHINE = {OutOfMemory.code, BadDevice.code}


def reports(hold: Hold, engine: EngineProcess, order: Order) -> Iterator[Report]:
    hush(engine)
    engine.submit(order, limit(order.memory()))
    silence = SilenceLimit(engine, order)
    while True:
        report = engine.receive(0.1)
        if not hold.may_go_on():
            yield from _last_words(engine, report)
            raise Stopped
        silence.goes_on() if report is None else silence.ends()
        match report:
            case None | AtWork():
                continue
            case Ended():
                return
            case Failed():
                raise _refusal(report.code, hold.in_words(report.sentence), order)
            case _:
                yield report


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
        if spent.is_stuck or (not self._opens_within_s and (spent.is_over or spent.is_idle)):
            raise self._engine.give_up(spent)


def hush(engine: EngineProcess) -> None:
    """Have a busy engine drop its order: nobody listens any more, and its reports must not be taken for the next
    order's."""
    with suppress(EngineDied):
        for _ in _last_words(engine, None) if engine.is_busy else ():
            pass


def _last_words(engine: EngineProcess, report: Report | None) -> Iterator[Report]:
    """Ask the engine to cancel, and end it if it does not. An engine that cancels keeps its models."""
    engine.cancel()
    deadline = time.monotonic() + TIME_TO_CANCEL
    while time.monotonic() < deadline:
        if isinstance(report, (Ended, Failed)):
            return
        if report is not None:
            yield report
        report = engine.receive(0.05)
    engine.end()


def _refusal(code: str, sentence: str, order: Order) -> Exception:
    if code in NEEDS_ANOTHER_MACHINE:
        return NotHere(sentence)
    if tells_of_full_disk(sentence):
        return NotNow(DISK_FULL)
    if code == BadCheckpoint.code and not order.judges_models:
        return NotHere(sentence)  # it was found to be sound, so it is this machine that cannot load it
    return DrafthouseError(sentence)
