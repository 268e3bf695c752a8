"""Give back what a worker no longer holds: jobs of the process before it, and jobs it dropped while the database was
away."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from django.conf import settings

from webapp.jobs import services as jobs
from webapp.jobs.models import Worker
from worker import evidence, leash
from worker.evidence import CrashNote, Marks

End = tuple[str, bool]  # in words, and whether the job can have caused it


def crash_note(worker: str) -> CrashNote:
    return CrashNote(Path(settings.DATA_DIR) / "workers" / f"{quote(worker, safe='@')}.crash")


class Past:
    def __init__(self, worker: str, *, has_crashed: bool = False) -> None:
        self._worker = worker
        self._has_crashed = has_crashed
        self._lock = threading.Lock()  # the pulse settles too
        self._end: Callable[[], End] | None = self._of_predecessor

    def lost_touch(self) -> None:
        """The database may say that we hold a job which we have put down."""
        with self._lock:
            self._end = _of_lost_touch

    def settle(self) -> None:
        """Call before each claim. Does nothing when nothing is left to give back."""
        with self._lock:
            if self._end is not None:
                ended, counts = self._end()
                jobs.take_back(worker=self._worker, ended=ended, counts=counts)
                self._end = None

    def _of_predecessor(self) -> End:
        before = os.environ.get(leash.BEFORE)  # None: nobody watches over us who could tell
        code = int(before) if before else None
        then = Worker.objects.filter(name=self._worker).values_list("marks", flat=True).first() or {}
        counts = evidence.job_may_have_ended_it(code, Marks(**then), evidence.marks())
        if before == "":
            return "went down with its supervisor and has started again.", counts
        if code is None:
            how = "crashed" if self._has_crashed else "was ended"
            return f"{how} and has started again.", counts or self._has_crashed
        return f"{'was ' * (code < 0)}{evidence.how_it_ended(code)} and has started again.", counts


def _of_lost_touch() -> End:
    return "could not reach the database for a while.", False
