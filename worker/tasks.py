"""The one Celery task there is: look into the database, which is the queue. While the broker is away nobody wakes a
worker, so it looks without being woken."""

from __future__ import annotations

import signal
import threading
import warnings
from typing import Any

from celery import Celery, signals
from celery.exceptions import CPendingDeprecationWarning, SecurityWarning
from celery.worker import state

from webapp.core import broker
from webapp.jobs.nudging import LOOK
from worker.job_loop import JobLoop

SEEK_EVERY = 10.0  # s


def listen(app: Celery, job_loop: JobLoop, queue: str, name: str) -> None:
    """Take jobs until somebody says stop. A message that comes twice, or late, finds nothing to do."""

    @app.task(name=LOOK)
    def look() -> None:
        job_loop.look()

    def quieten(**_: Any) -> None:
        warnings.simplefilter("ignore", CPendingDeprecationWarning)  # Celery has switched them on since

    def end(*_: Any, **__: Any) -> None:  # from a signal's handler, while a job may be running
        state.should_stop = 0  # Celery ends as soon as it has started
        job_loop.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)  # Celery's own handlers follow, maybe after the first job was taken
    signals.worker_ready.connect(quieten)
    signals.worker_shutting_down.connect(end)
    warnings.simplefilter("ignore", SecurityWarning)  # the messages are empty JSON: root or not, nothing is unpickled
    app.conf.update(worker_hijack_root_logger=False, worker_redirect_stdouts=False)
    app.conf.update(broker_connection_max_retries=None)  # a broker may be away for longer than a hundred tries
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=WARNING")
    job_loop.begin()  # not when Celery has reached the broker, which may be away
    seeker = Seeker(job_loop)
    seeker.start()
    try:
        app.worker_main(["--quiet", "worker", "--pool=solo", f"--queues={queue}", f"--hostname={name}", *quiet])
    finally:
        job_loop.stop()
        seeker.join()  # it may have a job to put down, for which an interpreter that shuts down is too late


class Seeker:
    """A thread that looks while the broker is away. It lives until the worker stops, for the engine's leash is tied to
    the thread that starts it."""

    def __init__(self, job_loop: JobLoop, every_s: float = SEEK_EVERY) -> None:
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
