"""Watch of a job: finds the frames that it has not found before.

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

from django.db.models import Max

from webapp.comparisons.frames import Frame
from webapp.jobs import log
from webapp.jobs.models import Job, JobEvent
from webapp.live.watch import OVERLAP

LINES_AT_ONCE = 500


@dataclass
class JobWatch:
    job: UUID
    after: int = 0
    since: datetime | None = None  # of a watch that has no cursor: the moment from which on it finds lines
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
        self.since = since or self.since

    def readings(self) -> dict[str, Callable[[], list[Frame]]]:
        """Readings that sockets share."""
        return {"news": self.news}

    def news(self) -> list[Frame]:
        """Read everything that is new. The job is read before its log, so that "final" means "this is all"."""
        job = Job.objects.get(pk=self.job)
        frames: list[Frame] = []
        status = {"t": "job", **log.status_of(job, done=job.done_count, total=job.total_count)}
        if not log.is_same_status(status, self._status):
            frames.append(status)
        self._status = status
        if self.since and not self.after:
            earlier = JobEvent.objects.filter(job=self.job, at__lt=self.since - OVERLAP)
            self.after = earlier.aggregate(last=Max("seq"))["last"] or 0
        while lines := log.read(job=self.job, after=self.after, limit=LINES_AT_ONCE):
            self.after = lines[-1].seq
            events = [log.shown(line) for line in lines]
            frames.append({"t": "events", "sample": str(self.job), "events": events})
        if job.is_final:
            self.is_over = True
            frames.append({"t": "finished"})
        return frames
