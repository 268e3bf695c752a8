"""Data that a page needs to show a job going on: its state, its log, and the addresses that bring more."""

from __future__ import annotations

from typing import Any

from django.urls import reverse

from webapp.jobs import log
from webapp.jobs.models import Job

MOST_LINES = 2000


def work_of(job: Job) -> dict[str, Any]:
    """The status is read before the log, so the socket tells what happens in between."""
    status = log.status_of(job, done=job.done_count, total=job.total_count)
    addresses = {"job": str(job.pk), "socket": f"/ws/jobs/{job.pk}/", "poll": reverse("jobs-news", args=[job.pk])}
    return {"job": job, "status": status, "work": {**addresses, "status": status, "lines": lines(job)}}


def lines(job: Job) -> list[dict[str, Any]]:
    return [log.shown(line) for line in log.read(job=job.pk, after=0, limit=MOST_LINES)]
