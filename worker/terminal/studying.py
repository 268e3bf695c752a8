"""Carry out a job's order in this process, as the engine of a worker does, and show its steps."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from typing import Any

from decoding.errors import Cancelled
from worker.engine.residents import Residents
from worker.messages import Found, JobProgress, PairLoaded, PairOrder, Report
from worker.terminal.bench import Bench
from worker.terminal.interrupt import Interrupt
from worker.terminal.loading import make_ready
from worker.terminal.progress import StepLines


def carry_out(
    order: PairOrder,
    bench: Bench,
    *,
    on_report: Callable[[Report], None] = lambda report: None,
    residents: Residents | None = None,
) -> dict[str, Any]:
    """Return the document that the order makes. `on_report` gets what else it makes on the way. Models that are
    resident are not loaded again. Ctrl-C ends it after the step in hand, and a second one at once."""
    make_ready(bench, order.memory())
    listener = Listener(bench.material.name, interrupt := Interrupt(), on_report)
    with interrupt, suppress(Cancelled), closing(listener):
        order.carry_out(residents or Residents(), listener.emit, interrupt)
    if interrupt.is_asked:
        raise KeyboardInterrupt
    return listener.document


class Listener:
    """Shows the steps of a job in the terminal and keeps its document."""

    def __init__(self, name: str, interrupt: Interrupt, on_report: Callable[[Report], None]) -> None:
        self.document: dict[str, Any] = {}
        self._name, self._interrupt, self._on_report = name, interrupt, on_report
        self._lines = StepLines(sys.stderr)

    def emit(self, report: Report) -> None:
        if self._interrupt.is_asked:
            raise KeyboardInterrupt
        match report:
            case JobProgress():
                self._lines.show(report)
            case PairLoaded():
                say(described(self._name, report.hardware))
                if report.draft_left_out:
                    say(report.draft_left_out)
            case Found():
                self.document.update(report.document)
            case _:
                self._lines.close()
                self._on_report(report)

    def close(self) -> None:
        self._lines.close()


def described(name: str, hardware: Mapping[str, Any]) -> str:
    threads = f"{hardware['threads']} thread" + ("s" if hardware["threads"] > 1 else "")
    return f"{name} on {hardware['device_name']}, {threads}, {hardware['runner']} runner, {hardware['dtype']}"


def say(words: str) -> None:
    print(words, file=sys.stderr, flush=True)
