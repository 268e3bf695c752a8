"""Processes that are kept running, and whose lines are shown with their names."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from worker import leash
from worker.evidence import how_it_ended
from worker.supervisor.probes import Probe

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0  # s, between an end and the next start
LAST_WORDS = 10  # lines of a log
TIME_TO_START = 60.0  # s until the first answer; a crowded machine takes its time
LOOK_EVERY = 0.2  # s, at whether it has started
STEADY = 10.0  # s; who ran this long begins with the first pause again


def say(name: str, line: str) -> None:
    """One line, whole, whoever else is talking. One that is an object names its process itself."""
    sys.stdout.write(f"{line.rstrip()}\n" if line.startswith('{"at": ') else f"{name:9} │ {line.rstrip()}\n")
    sys.stdout.flush()


@dataclass
class Child:
    name: str
    command: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    pass_fds: tuple[int, ...] = ()
    log: Path | None = None  # where it writes instead of to us; shown when it ends by itself
    probe: Probe | None = None
    process: subprocess.Popen[str] | None = None
    _pause: float = FIRST_PAUSE
    _started: float = 0.0
    _next_start: float = 0.0
    _code: int | None = None  # with which it ended last
    _log_start: int = 0  # bytes of its log that were there when it began

    def start(self) -> None:
        """Start the child. Call this from the main thread: the leash is tied to the thread that forks."""
        self._started = time.monotonic()
        self._log_start = self.log.stat().st_size if self.log and self.log.exists() else 0
        self.process = leash.start(
            self.command,
            env={
                **leash.held(),
                **self.env,
                leash.BEFORE: "" if self._code is None else str(self._code),
                "PYTHONUNBUFFERED": "1",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=self.pass_fds,
        )
        threading.Thread(target=self._relay, args=(self.process,), daemon=True).start()
        if self.probe is not None:
            threading.Thread(target=self._watch, args=(self.process, self.probe), daemon=True).start()

    def tend(self) -> None:
        """Start it again if it has ended: at once the first time, later and later if it goes on ending."""
        now = time.monotonic()
        if self.process is None:
            if now >= self._next_start:
                self.start()
        elif self.process.poll() is not None:
            if now - self._started > STEADY:
                self._pause = FIRST_PAUSE
            self._code = self.process.returncode
            for line in self._logged()[-LAST_WORDS:]:
                say(self.name, line)
            say(self.name, f"{how_it_ended(self._code)}; starts again in {self._pause:.1f} s")
            self.process, self._next_start = None, now + self._pause
            self._pause = min(self._pause * 2, LONGEST_PAUSE)

    def _logged(self) -> list[str]:
        """Text that the child has written since it began."""
        if self.log is None or not self.log.exists():
            return []
        return self.log.read_bytes()[self._log_start :].decode(errors="replace").splitlines()

    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the child and to all that it has started."""
        if self.process is not None and self.process.poll() is None:
            leash.signal_group(self.process, number)

    def _watch(self, process: subprocess.Popen[str], probe: Probe) -> None:
        """End it when it lives and does not answer, whatever keeps it from that; `tend` starts it again."""
        deadline = time.monotonic() + TIME_TO_START
        while time.monotonic() < deadline and not probe.is_well():
            time.sleep(LOOK_EVERY)
        misses = 0
        while misses < probe.misses:
            time.sleep(probe.every_s)
            if process.poll() is not None:
                return
            misses = 0 if probe.is_well() else misses + 1
        say(self.name, f"does not answer ({misses} times in a row) and is ended")
        leash.signal_group(process, signal.SIGKILL)

    def _relay(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                say(self.name, line)


def stop(children: Sequence[Child], grace: float) -> None:
    """Ask all at once, wait together, end those that do not listen."""
    for child in children:
        child.signal(signal.SIGTERM)
    deadline = time.monotonic() + grace
    while any(child.is_running() for child in children) and time.monotonic() < deadline:
        time.sleep(0.02)
    for child in children:
        child.signal(signal.SIGKILL)
    for child in children:
        if child.process is not None:
            child.process.wait()
