"""A worker's heartbeat, in a thread of its own: it says that the worker lives, renews the lease of the job in hand, and
hears when somebody wants that job cancelled."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from django.db import Error, close_old_connections, connection

from webapp.core.outage import Outage
from webapp.jobs import services as jobs
from webapp.jobs.models import Job

LISTEN_EVERY = 0.25  # s: cancelling must take effect within a second
RENEW_EVERY = 4.0  # s

outage = Outage("the database", logging.getLogger("drafthouse.worker"), meanwhile="what the engine says waits")


@dataclass
class Hold:
    """A job in hand: how far it is, and whether we may go on."""

    job: Job
    done: int = 0
    total: int = 0
    is_lost: bool = False  # another worker may have it: not one more word may be written
    is_cancelled: bool = False
    is_stopping: bool = False  # this worker goes home
    renewed: float = field(default_factory=time.monotonic)
    began: float = field(default_factory=time.monotonic)
    using: ExitStack = field(default_factory=ExitStack)  # what of the machine it has for itself while it lasts
    names: dict[Path, str] = field(default_factory=dict)  # folders of ours, by what people call what lies there

    event_lag_s: float | None = None  # the longest since the last reading, from an event to its row

    def stored_event(self, since_ns: int) -> None:
        self.event_lag_s = max(self.event_lag_s or 0.0, (time.perf_counter_ns() - since_ns) / 1e9)

    def take_event_lag(self) -> float | None:
        lag, self.event_lag_s = self.event_lag_s, None
        return lag

    @property
    def is_over_time(self) -> bool:
        return time.monotonic() - self.began > self.job.limit_s

    def may_go_on(self) -> bool:
        return not (self.is_lost or self.is_cancelled or self.is_stopping or self.is_over_time)

    def in_words(self, sentence: str) -> str:
        """Without our folders, which tell whoever reads it nothing."""
        for folder, name in self.names.items():
            sentence = sentence.replace(str(folder), name)
        return sentence


class Pulse:
    def __init__(self, announce: Callable[[], None]) -> None:
        self._announce = announce
        self._announced = 0.0
        self._hold: Hold | None = None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="pulse", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """May be called from a signal's handler."""
        self._stop.set()
        if self._hold is not None:
            self._hold.is_stopping = True

    def stops_within(self, seconds: float) -> bool:
        return self._stop.wait(seconds)

    def join(self) -> None:
        self._thread.join()

    @property
    def is_stopping(self) -> bool:
        return self._stop.is_set()

    @contextmanager
    def holding(self, job: Job) -> Iterator[Hold]:
        hold = Hold(job, done=job.done_count, total=job.total_count, is_stopping=self._stop.is_set())
        self._hold = hold
        try:
            yield hold
        finally:
            hold.using.close()
            with self._lock:  # a renewal that is under way ends first
                self._hold = None

    def _run(self) -> None:
        wait_s = LISTEN_EVERY
        while not self._stop.wait(wait_s) or self._hold is not None:
            wait_s = LISTEN_EVERY
            try:
                self._beat()
                outage.ends()
            except Error as error:
                wait_s = max(outage.begins(error), LISTEN_EVERY)
                connection.close()
            with self._lock:
                if self._hold and time.monotonic() - self._hold.renewed > jobs.LEASE.total_seconds():
                    self._hold.is_lost = True  # nobody told us so, but others may think so by now
            if self._stop.is_set():
                time.sleep(LISTEN_EVERY)
        connection.close()

    def _beat(self) -> None:
        close_old_connections()
        now = time.monotonic()
        if now - self._announced > RENEW_EVERY:
            self._announce()
            self._announced = now
        with self._lock:
            hold = self._hold
            if hold is None:
                return
            if now - hold.renewed > RENEW_EVERY:
                if jobs.renew(job=hold.job, done=hold.done, total=hold.total):
                    hold.renewed = now
                else:
                    hold.is_lost = True
            hold.is_cancelled = hold.is_cancelled or jobs.is_cancel_asked(job=hold.job)
