"""The engine process as its worker holds it: started when first needed, told what to do, ended without mercy."""

from __future__ import annotations

import dataclasses
import logging
import math
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from webapp.core import logs
from worker import evidence, gauges, leash
from worker.memory import LOOK_EVERY, MemoryReader, OverLimit, limit
from worker.messages import NEXT, Cancel, Ended, Failed, Order, Reply, StillHere
from worker.spent import ProcessTime

STILL_HERE_EVERY = 2.0  # s
PATIENCE = 300.0  # s of work without a word; a large model may read a long prompt for minutes, but no round so long
RECENTLY = 3 * STILL_HERE_EVERY  # s
TIME_TO_OBEY = 0.5  # s after TERM
LAST_LINES = 12
ADVICE: dict[int, str] = {  # by signal, where the job can have caused it
    signal.SIGKILL: " The system does that when memory runs out; shorter texts or smaller models need less.",
    signal.SIGSEGV: " That is a fault in a library below Python, or in memory: if it stays with this pair, report it.",
}

logger = logging.getLogger("drafthouse.worker")


class EngineDied(Exception):
    """The process is gone; the message says how, and what it said last. `counts`: the job can have caused it."""

    def __init__(self, sentence: str, *, counts: bool = True) -> None:
        super().__init__(sentence)
        self.counts = counts


class EngineProcess:
    def __init__(self, patience: float = PATIENCE) -> None:
        self.patience = patience
        self._process: subprocess.Popen[str] | None = None
        self._last_lines: deque[str] = deque(maxlen=LAST_LINES)
        self.is_busy = False
        self._marks = evidence.marks()  # when the order was given
        self._was_short = -math.inf  # when memory last was
        self._limit = limit()
        self._excess: OverLimit | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def submit(self, order: Order, allowed: int | None = None) -> None:
        """Start the engine where there is none. Call from a thread that lives as long as the worker: the leash is tied
        to the one that forks. `allowed`: bytes that it may take on top of what it has now, for models that stay from
        order to order."""
        if self._process is None or self._process.poll() is not None:
            self._start()
        assert self._process is not None
        self._limit = MemoryReader(self._process.pid).largest() + (limit() if allowed is None else allowed)
        self.is_busy = True
        self._marks = evidence.marks()
        self._send(order)

    def cancel(self) -> None:
        self._send(Cancel())

    def receive(self, timeout: float) -> Reply | None:
        """The next thing it says; None when it says nothing in time. Raises EngineDied when it never will again, and
        OverLimit when that is because it took too much memory."""
        try:
            message = self._messages.get(timeout=timeout)
        except queue.Empty:
            return None
        if message is None:
            self._messages.put(None)  # whoever asks again hears the same
            self.is_busy = False
            raise self._excess or self._why_it_died()
        reply: Reply = pickle.loads(message)
        self.is_busy = not isinstance(reply, (Ended, Failed))
        return reply

    def give_up(self, silence: ProcessTime) -> EngineDied:
        """End an engine that hangs, and return the sentence about it. The job did not cause it if somebody has paused
        the engine, or if the machine was too busy to let it work."""
        last = self._last_output()
        was_paused = self.pid is not None and gauges.is_stopped(self.pid)
        is_starved, worked = not silence.is_idle and not silence.is_over, silence.worked
        self.end()
        why = (
            f"Its machine was so busy that it got only {worked:.0f} s of processor time."
            if is_starved
            else "If its machine was only slow, try again when it has less to do."
        )
        return EngineDied(
            f"The engine process said nothing for {silence.waited:.0f} s and was ended. {why}{last}",
            counts=not was_paused and not is_starved,
        )

    def end(self) -> None:
        """TERM, then KILL, to it and all it has started. The next order starts a fresh one."""
        if self._process is None:
            return
        leash.end(self._process, TIME_TO_OBEY)
        self._process = None
        self.is_busy = False

    def _start(self) -> None:
        self.end()
        ours, theirs = Pipe()
        with theirs:
            self._process = leash.start(
                [sys.executable, "-P", "-m", "worker.engine", str(theirs.fileno())],
                pass_fds=(theirs.fileno(),),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        self._connection = ours
        self._messages = queue.SimpleQueue[bytes | None]()  # what the database has not yet taken; None is the end
        self._last_lines.clear()
        self._excess, self._limit = None, sys.maxsize  # the last order's limit is not for this one
        self._sending = threading.Lock()
        read = threading.Thread(target=self._read, args=(self._process, ours, self._messages), daemon=True)
        read.start()
        for work in (self._relay, self._keep_alive, self._watch):
            threading.Thread(target=work, args=(self._process,), daemon=True).start()

    def _send(self, message: Order | Cancel | StillHere) -> None:
        try:
            with self._sending:
                self._connection.send(message)
        except OSError:
            pass  # it is dead, which `receive` reports

    def _read(
        self, process: subprocess.Popen[str], connection: Connection, messages: queue.SimpleQueue[bytes | None]
    ) -> None:
        try:
            while True:
                messages.put(connection.recv_bytes())
        except (EOFError, OSError):
            connection.close()
            process.wait()  # so that whoever hears of the end can be told how it came
            messages.put(None)

    def _relay(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                if line.rstrip() == NEXT:
                    self._last_lines.clear()  # what follows is said in the order in hand
                    continue
                self._last_lines.extend(logs.said(line))
                sys.stderr.write(f"{logs.pass_on('engine', line)}\n")
                sys.stderr.flush()

    def _keep_alive(self, process: subprocess.Popen[str]) -> None:
        while process.poll() is None:
            self._send(StillHere())
            if evidence.is_short_of_memory():
                self._was_short = time.monotonic()
            time.sleep(STILL_HERE_EVERY)

    def _watch(self, process: subprocess.Popen[str]) -> None:
        """End it when it, or a process that it has started, takes more memory than the order can need."""
        gauge = MemoryReader(process.pid)
        while process.poll() is None:
            if gauge.largest() > self._limit:
                self._excess = OverLimit("The engine process", self._limit)
                leash.signal_group(process, signal.SIGKILL)
                return
            time.sleep(LOOK_EVERY)

    def _why_it_died(self) -> EngineDied:
        assert self._process is not None
        code = self._process.wait()
        before = dataclasses.replace(self._marks, is_short=time.monotonic() - self._was_short < RECENTLY)
        counts = evidence.job_may_have_ended_it(code, before, evidence.marks())
        advice = ADVICE.get(-code, "") if counts else ""
        how = f"The engine process {'was ' * (code < 0)}{evidence.how_it_ended(code)}."
        return EngineDied(f"{how}{advice}{self._last_output()}", counts=counts)

    def _last_output(self) -> str:
        return "\n".join(["\nIt said last:", *self._last_lines]) if self._last_lines else ""
