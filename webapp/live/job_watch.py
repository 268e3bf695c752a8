"""Watch of a job: finds the frames that one reader of its page has not seen.

    {"t": "job", …}  state, how far it is, why it waits
    {"t": "events", "sample": job, "events": […]}  more of its log, in order; a line may carry numbers to draw
    {"t": "finished"}  nothing will follow

A job's log travels as the trace of a sample does, under the job's own id, so that one feed in the browser reads both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from webapp.comparisons.frames import Frame
from webapp.jobs import log
from webapp.jobs.models import Job

LINES_AT_ONCE = 500


@dataclass
class JobWatch:
    job: UUID
    after: int = 0
    since: datetime | None = None  # a job's cursor is its log's alone
    must_read: bool = True
    is_over: bool = False
    _status: Frame = field(default_factory=dict)

    @property
    def is_from_start(self) -> bool:
        return self.after == 0

    @property
    def group(self) -> str:
        return log.group(self.job)

    @property
    def cursors(self) -> dict[UUID, int]:
        return {self.job: self.after}

    def follow(self, after: dict[UUID, int], since: datetime | None = None) -> None:
        self.after = max(self.after, after.get(self.job, 0))
        self.since = since
        self.must_read = True

    def sift(self, frames: list[Frame]) -> list[Frame]:
        """Take shared frames as news that there is some: few watch one job, and its log is short."""
        self.must_read |= bool(frames)
        return []

    def readings(self) -> dict[str, Callable[[], list[Frame]]]:
        """Readings that sockets share."""
        return {"news": self.news}

    def news(self) -> list[Frame]:
        """Read everything that is new. The job is read before its log, so that "final" means "this is all"."""
        self.must_read = False
        job = Job.objects.get(pk=self.job)
        frames: list[Frame] = []
        status = {"t": "job", **log.status_of(job, done=job.done_count, total=job.total_count)}
        if not log.is_same_status(status, self._status):
            frames.append(status)
        self._status = status
        while lines := log.read(job=self.job, after=self.after, limit=LINES_AT_ONCE):
            self.after = lines[-1].seq
            events = [log.shown(line) for line in lines]
            frames.append({"t": "events", "sample": str(self.job), "events": events})
        if job.is_final:
            self.is_over = True
            frames.append({"t": "finished"})
        return frames
