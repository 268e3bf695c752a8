"""Look for jobs without being woken: nobody wakes a worker while the broker is away. The database is the queue."""

from __future__ import annotations

import threading

from webapp.core import broker
from worker.job_loop import JobLoop

EVERY = 10.0  # s


class Seeker:
    """A thread that looks while the broker is away. It lives until the worker stops, for the engine's leash is tied to
    the thread that starts it."""

    def __init__(self, job_loop: JobLoop, every_s: float = EVERY) -> None:
        self._job_loop = job_loop
        self._every_s = every_s
        self._thread = threading.Thread(target=self._run, name="seeker")

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def _run(self) -> None:
        while not self._job_loop.pulse.stops_within(self._every_s):
            if not broker.answers():
                self._job_loop.look_if_idle()
