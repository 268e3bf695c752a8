"""Carry out a job's order in this process, as the engine of a worker does, and show its steps."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import closing, suppress
from typing import Any

from decoding.errors import Cancelled
from worker.messages import Found, JobProgress, PairLoaded, PairOrder, Reply
from worker.terminal.bench import Bench
from worker.terminal.ending import Interrupt
from worker.terminal.guarded import allow
from worker.terminal.progress import ProgressLines, described, say


def carry_out(
    order: PairOrder,
    bench: Bench,
    on_reply: Callable[[Reply], None] = lambda reply: None,
) -> dict[str, Any]:
    """Return the document that the order makes. `on_reply` gets what else it makes on the way. Ctrl-C ends it after
    the step in hand, and a second one at once."""
    from worker.engine.residents import Residents  # loads torch: slips are told before that

    make_ready(bench, order.memory())
    listener = Listener(bench.material.name, interrupt := Interrupt(), on_reply)
    with interrupt, suppress(Cancelled), closing(listener):
        order.carry_out(Residents(), listener.emit, interrupt)
    if interrupt.is_asked:
        raise KeyboardInterrupt
    return listener.document


class Listener:
    """Shows the steps of a job in the terminal and keeps its document."""

    def __init__(self, name: str, interrupt: Interrupt, on_reply: Callable[[Reply], None]) -> None:
        self.document: dict[str, Any] = {}
        self._name, self._interrupt, self._on_reply = name, interrupt, on_reply
        self._lines = ProgressLines(sys.stderr)

    def emit(self, reply: Reply) -> None:
        if self._interrupt.is_asked:
            raise KeyboardInterrupt
        match reply:
            case JobProgress():
                self._lines.show(reply)
            case PairLoaded():
                for line in (*described(self._name, reply), *filter(None, [reply.draft_left_out])):
                    say(line)
            case Found():
                self.document.update(reply.document)
            case _:
                self._lines.close()
                self._on_reply(reply)

    def close(self) -> None:
        self._lines.close()


def make_ready(bench: Bench, memory: int) -> None:
    """Set the threads, and allow the work so many bytes."""
    import transformers

    from decoding.models.devices import set_threads, usual_threads

    transformers.utils.logging.disable_progress_bar()  # we draw our own
    transformers.utils.logging.set_verbosity_error()
    allow(memory)
    set_threads(bench.threads or usual_threads())
