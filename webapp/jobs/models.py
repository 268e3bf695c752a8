"""Jobs. Their table is the queue; a message from the broker only says "look"."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from webapp.accounts.models import Owned, Team
from webapp.core.models import Noun
from webapp.core.version import version


class JobState(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


FINAL = (JobState.SUCCEEDED, JobState.FAILED, JobState.CANCELLED)


class Queue(models.TextChoices):
    CPU = "cpu", "CPU"
    GPU = "gpu", "GPU"
    LIGHT = "light", "Light"  # jobs that run no model here; a niced worker of their own does them


MEASURING = [(one.value, one.label) for one in (Queue.CPU, Queue.GPU)]  # what people choose from


LOWEST_PRIORITY, USUAL_PRIORITY, HIGHEST_PRIORITY = -10, 0, 10  # among the jobs of one team


class Jobs(Owned):
    def waiting(self) -> Jobs:
        """Queued jobs, in the order in which workers claim those of one team."""
        return self.filter(state=JobState.QUEUED).order_by("-priority", "created", "pk")

    def due(self) -> Jobs:
        """Queued jobs that may be tried now."""
        return self.waiting().filter(Q(not_before=None) | Q(not_before__lte=Now()))


class Job(Noun):
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="jobs")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    kind = models.CharField(max_length=40)  # this and the next four: webapp/jobs/kinds.py
    kind_label = models.CharField(max_length=40, default="")
    parts = models.CharField(max_length=20, default="")
    keeps_parts = models.BooleanField(default=False)
    page = models.CharField(max_length=40, blank=True, default="")
    arguments = models.JSONField(default=dict)  # of a kind that has no table for what it was asked
    queue = models.CharField(max_length=10, choices=Queue.choices)
    title = models.CharField(max_length=200)
    state = models.CharField(max_length=10, choices=JobState.choices, default=JobState.QUEUED)
    priority = models.SmallIntegerField(default=USUAL_PRIORITY)
    attempt = models.PositiveIntegerField(default=0)
    at = models.CharField(max_length=200, blank=True)  # the part under way: a sample, or a phase of a study
    blamed = models.JSONField(default=list)  # the ends that count against it since it last got on: webapp/jobs/ends.py
    step = models.JSONField(default=dict)  # that runs: its phase, what is done and due of it, and how long it has run
    setback = models.TextField(blank=True, default="")  # why the attempt before this one ended, in one line
    setbacks = models.PositiveIntegerField(default=0)  # all ends since it last got on
    not_before = models.DateTimeField(null=True)  # the next attempt, by the database's clock
    worker = models.CharField(max_length=120, blank=True)
    limit_s = models.PositiveIntegerField(default=48 * 3600)  # of an attempt: the worker then ends it
    lease_until = models.DateTimeField(null=True)
    is_cancel_asked = models.BooleanField(default=False)
    reason = models.TextField(blank=True)  # why it waits, or why it ended so, as a sentence
    refusals = models.JSONField(default=dict)  # workers that cannot do it, each with its reason
    version = models.CharField(max_length=40, default=version)  # of the Drafthouse that made it
    device_count = models.PositiveSmallIntegerField(default=1)  # 2: a GPU, and cores of the same machine beside it
    done_count = models.PositiveIntegerField(default=0)
    done_before = models.PositiveIntegerField(default=0)  # of these, what earlier attempts had left
    total_count = models.PositiveIntegerField(default=0)
    started = models.DateTimeField(null=True)  # the latest attempt, so that its pace can be told
    finished = models.DateTimeField(null=True)

    objects = Jobs.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["queue", "-priority", "created"], condition=Q(state="queued"), name="jobs_waiting"),
            models.Index(fields=["lease_until"], condition=Q(state="running"), name="jobs_leased"),
            models.Index(fields=["team", "-created"], name="jobs_by_team"),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=JobState.values), name="job_state_is_known"),
            models.CheckConstraint(condition=Q(queue__in=Queue.values), name="job_queue_is_known"),
            models.CheckConstraint(
                condition=Q(state="running", lease_until__isnull=False) | ~Q(state="running") & Q(lease_until=None),
                name="job_has_a_lease_exactly_while_running",
            ),
            models.CheckConstraint(
                condition=Q(state__in=FINAL, finished__isnull=False) | ~Q(state__in=FINAL) & Q(finished=None),
                name="job_has_an_end_exactly_when_final",
            ),
            models.CheckConstraint(
                condition=Q(priority__range=(LOWEST_PRIORITY, HIGHEST_PRIORITY)), name="job_priority_is_bounded"
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def part_s(self) -> float | None:
        """Seconds that this attempt takes for one part of the work; None while nothing is known."""
        done = self.done_count - self.done_before
        if self.started is None or done <= 0:
            return None
        return max(0.0, ((self.finished or timezone.now()) - self.started).total_seconds()) / done

    @property
    def is_in_step(self) -> bool:
        """Whether its progress is that of the step that runs: the step counts no parts, or all of them are done."""
        return bool(self.step) and (not self.step["is_counted"] or self.done_count >= self.total_count)

    @property
    def running_step(self) -> dict[str, Any] | None:
        """The step that tells how far the job is, where its parts do not."""
        return {name: self.step[name] for name in ("phase", "done", "due")} if self.is_in_step else None

    def left_s(self, part_s: float | None = None) -> float | None:
        """Seconds left at the pace of this attempt: of the step that runs, or of all parts. None: nobody can tell.
        `part_s`, where it is known, is the time for one part."""
        if self.is_in_step:
            done, due = self.step["done"], self.step["due"]
            return self.step["spent_s"] / done * (due - done) if 0 < done < due else None
        pace, left = part_s or self.part_s(), self.total_count - self.done_count
        return pace * left if pace is not None and left > 0 else None

    @property
    def limit_minutes(self) -> float:
        return self.limit_s / 60

    @property
    def subject(self) -> models.Model | None:
        """Row that this job makes, if that has a page."""
        return getattr(self, self.page, None) if self.page else None

    @property
    def counted_ends(self) -> int:
        """Attempts that ended in a way that the job itself can have caused, since it last got on."""
        return len(self.blamed)

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    @property
    def can_cancel(self) -> bool:
        return not self.is_final and not self.is_cancel_asked

    @property
    def can_retry(self) -> bool:
        return self.state in (JobState.FAILED, JobState.CANCELLED)


class JobEvent(models.Model):
    """One line of a job's history. `seq` is dense from 1, so a reader with a cursor misses nothing. A line may carry
    numbers, for pages that draw how the work goes."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="events")
    seq = models.PositiveIntegerField()
    at = models.DateTimeField(default=timezone.now)
    state = models.CharField(max_length=10, choices=JobState.choices)
    sentence = models.TextField()
    numbers = models.JSONField(default=dict)

    class Meta:
        ordering = ["seq"]
        constraints = [models.UniqueConstraint(fields=["job", "seq"], name="one_job_event_per_seq")]


class Reading(models.Model):
    """Reading of a worker's sensors at one moment of a job: shares of cores, clocks, memory, temperature, GPUs."""

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="readings")
    attempt = models.PositiveIntegerField()
    worker = models.CharField(max_length=120)
    at = models.DateTimeField(default=timezone.now)
    values = models.JSONField()

    class Meta:
        ordering = ["pk"]


LONGEST_REASON = 200  # characters


class Pause(models.Model):
    """Pause of a queue: workers take nothing from it. What runs goes on."""

    queue = models.CharField(max_length=10, choices=Queue.choices, unique=True)
    since = models.DateTimeField(default=timezone.now)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    reason = models.CharField(max_length=LONGEST_REASON, blank=True)

    def __str__(self) -> str:
        why = f": {self.reason}" if self.reason else "."
        return f"`{self.queue}` is paused by {self.by or 'somebody'} since {self.since:%H:%M} UTC{why}"


NAMED = ", "  # between a device and its name, as in `cuda:0, NVIDIA H200, 139 GiB`


class WorkerQuerySet(models.QuerySet["Worker"]):
    def alive(self) -> WorkerQuerySet:
        """Workers seen lately, by the database's clock: the clocks of their machines may differ."""
        return self.filter(seen__gt=Now() - Worker.SILENCE)

    def lately(self, since: timedelta) -> WorkerQuerySet:
        """Workers seen in this time, alive or gone."""
        return self.filter(seen__gt=Now() - since)

    def silent(self) -> WorkerQuerySet:
        """Workers that have missed two reports."""
        return self.filter(seen__lte=Now() - Worker.SUSPICIOUS)

    def that_could(self, job: Job) -> list[Worker]:
        """Workers at hand that listen to the job's queue and have not refused it."""
        return [worker for worker in self.alive() if job.queue in worker.queues and worker.name not in job.refusals]

    def devices_of(self, queue: str) -> list[str]:
        """Devices that a job of this queue may run on: those of workers at hand that tell which they have."""
        here = (worker for worker in self.alive() if queue in worker.queues)
        return sorted({device for worker in here for device in worker.devices if NAMED in device})


class Worker(models.Model):
    """A worker process as it last described itself."""

    SUSPICIOUS = timedelta(seconds=8)  # pages tell that a worker is silent
    CROWDED = 0.5  # share of the cores that others use: pages tell that the machine is too busy
    CLOCK_OFF = timedelta(seconds=2)  # pages tell that a machine's clock is wrong
    SILENCE = timedelta(seconds=20)  # longer, and it counts as gone

    name = models.CharField(max_length=120, unique=True)
    machine = models.CharField(max_length=80, blank=True)  # workers of one machine share its cores
    queues = models.JSONField(default=list)
    devices = models.JSONField(default=list)
    versions = models.JSONField(default=dict)
    marks = models.JSONField(default=dict)  # of its machine's health when it was last seen: worker/evidence.py
    memory = models.BigIntegerField(null=True)  # bytes, where a draft of its queue has most; null: it does not say
    others = models.FloatField(null=True)  # share of its machine's cores that other programs used lately
    clock = models.DateTimeField(null=True)  # what its machine's clock said when it was last seen
    started = models.DateTimeField(default=timezone.now)
    seen = models.DateTimeField(default=timezone.now)  # by the database's clock

    objects = WorkerQuerySet.as_manager()

    class Meta:
        ordering = ["name"]

    @property
    def crowd(self) -> str:
        """Sentence about other programs on its machine if they slow it down; empty otherwise. Beside light jobs others
        measure, as they should."""
        if self.others is None or self.others < Worker.CROWDED or self.queues == [Queue.LIGHT]:
            return ""
        return (
            f"Other programs use over {10 * min(9, int(10 * self.others))} % of the cores that {self.name} runs on, so "
            "everything takes longer and its figures are unsteady."
        )

    @property
    def clock_trouble(self) -> str:
        """Sentence about its machine's clock if that is wrong; empty otherwise."""
        off = self.clock - self.seen if self.clock else timedelta()
        if abs(off) <= Worker.CLOCK_OFF:
            return ""
        side = "ahead of" if off > timedelta() else "behind"
        return (
            f"The clock of {self.name}'s machine is {abs(off).total_seconds():.0f} s {side} the database's, so its log "
            "has wrong times. Synchronise the clock, with NTP for example."
        )
