"""Find jobs whose worker has gone silent: nobody has renewed the lease while we looked, by a clock that only runs
forward. Wall clocks, here or on the workers' machines, and whether somebody sets them, change nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from uuid import UUID

from webapp.jobs import services
from webapp.jobs.models import Job, JobState

LONGEST_GAP = services.LEASE.total_seconds() / 2  # s between two looks that count as watching


class Reaper:
    """A worker counts from its own last renewal, and we from when we first saw that; so it always puts the job down
    before we hand it to another."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked = clock()
        self._watched = 0.0  # s; while the database is away nobody can renew, and nobody is said to be silent for that
        self._renewals: dict[UUID, tuple[Any, float]] = {}  # of each running job the latest, and when we first saw it

    def look(self) -> int:
        """Take jobs back from silent workers, and return how many."""
        running = list(Job.objects.filter(state=JobState.RUNNING))
        now, before = self._watch(), self._renewals
        self._renewals, silent = {}, []
        for job in running:
            renewal = job.attempt, job.lease_until
            known, since = before.get(job.pk, (None, now))
            self._renewals[job.pk] = renewal, since if known == renewal else now
            if now - self._renewals[job.pk][1] > services.LEASE.total_seconds():
                silent.append(job)
        return sum(services.take_back_from_silent(job=job) for job in silent)

    def _watch(self) -> float:
        now = self._clock()
        self._watched += min(now - self._looked, LONGEST_GAP)
        self._looked = now
        return self._watched
