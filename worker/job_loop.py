"""Run a worker: take a job, do it with the engine process, write how it ended, take the next."""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from importlib import metadata

from django.db import Error, InterfaceError, OperationalError, close_old_connections, connection

from decoding.errors import DrafthouseError
from webapp.core import logs
from webapp.core.disk import is_disk_full
from webapp.core.problems import Problem
from webapp.core.version import version
from webapp.jobs import services as jobs
from webapp.jobs.models import Job, Queue
from webapp.uploads.storing import StoreTrouble
from worker import evidence, gauges, heartbeat, noise
from worker.attempt import Attempt, hush
from worker.database import Stopped, insist
from worker.disk import DISK_FULL, NotNow
from worker.engine_process import EngineDied, EngineProcess
from worker.gpus import describe, read
from worker.jobs import Work, works
from worker.materials import NotHere, device_of, restrict
from worker.past import Past
from worker.pulse import Hold, Pulse, outage
from worker.telemetry import recording

logger = logging.getLogger("drafthouse.worker")


class JobLoop:
    def __init__(self, name: str, queue: str, *, has_crashed: bool = False, keeps_engine: bool = True) -> None:
        self.name = name
        self.queue = queue
        self.keeps_engine = keeps_engine  # while nothing waits, for the models in its memory
        self.works = works()
        self.engine = EngineProcess()
        self.past = Past(name, has_crashed=has_crashed)
        self.pulse = Pulse(self._announce)
        self._mark = noise.mark(os.getpid())  # of the machine when it was last announced
        self._turn = threading.Lock()  # one thread looks when it is woken, another while the broker is away

    def begin(self) -> None:
        """Start the heartbeat, before the first look. Jobs of a killed worker of this name go back at once."""
        restrict()
        try:
            self._announce()
        except Error as error:
            outage.begins(error)
            connection.close()
        self.pulse.start()

    def stop(self) -> None:
        """Stop after the job in hand, which notices. May be called from a signal's handler."""
        self.pulse.stop()

    def look(self) -> None:
        """Do what waits, until nothing does."""
        with self._turn:
            self._look()

    def look_if_idle(self) -> None:
        if self._turn.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._turn.release()
                connection.close()

    def _look(self) -> None:
        while not self.pulse.is_stopping:
            close_old_connections()
            try:
                self.past.settle()
                job = jobs.claim(worker=self.name, queues=[self.queue])
                if job is None:
                    if not self.keeps_engine:
                        self.engine.end()
                    return
                with self.pulse.holding(job) as hold, recording(hold, lambda: self.engine.pid):
                    self._work(hold)
                hush(self.engine)  # its time is not to be spent on what nobody hears
            except Error as error:
                outage.begins(error)
                connection.close()
                self.past.lost_touch()
                return  # the pulse gives back what we held, which wakes us again

    def _work(self, hold: Hold) -> None:
        """Do the job. Its first and last lines in the log name it by its id: its title is its owner's."""
        job, began = hold.job, time.monotonic()
        with logs.fields(job=job.pk, kind=job.kind, attempt=job.attempt, user=job.created_by_id, team=job.team_id):
            logger.info("took job %s, attempt %d", job.pk, job.attempt)
            try:
                insist(hold, self._attempt(hold))
            except Stopped:
                self._let_go(hold)
            state = Job.objects.filter(pk=job.pk).values_list("state", flat=True).first() or "deleted"
            took_s = round(time.monotonic() - began, 1)
            logger.info("job %s is %s after %.1f s", job.pk, state, took_s, extra={"state": state, "took_s": took_s})

    def _attempt(self, hold: Hold) -> Callable[[], bool]:
        """Do the job, and return how to write its outcome: the database may be away just then."""
        job = hold.job
        try:
            self._work_for(job)(Attempt(hold, self.engine))
        except (StoreTrouble, NotNow, EngineDied) as trouble:
            counts = isinstance(trouble, EngineDied) and trouble.counts
            return partial(jobs.give_back, job=job, reason=f"{self.name}: {trouble}", counts=counts)
        except (Problem, DrafthouseError) as refusal:
            return partial(jobs.fail, job=job, reason=str(refusal))
        except NotHere as why:
            return partial(jobs.refuse, job=job, reason=str(why))
        except (Stopped, OperationalError, InterfaceError):
            raise
        except Exception as error:
            return self._unexpected(job, error)
        return partial(jobs.succeed, job=job, done=hold.done)

    def _work_for(self, job: Job) -> Work:
        _require_new_enough(job)
        if job.kind not in self.works:
            raise NotHere(f"This worker knows no jobs of the kind `{job.kind}`. Start one that has worker/jobs for it.")
        return self.works[job.kind]

    def _unexpected(self, job: Job, error: Exception) -> Callable[[], bool]:
        if is_disk_full(error):
            return partial(jobs.give_back, job=job, reason=f"{self.name}: {DISK_FULL}", counts=False)
        logger.exception("an error of our own")
        reason = f"{self.name} met an error of its own: {type(error).__name__}: {error}"
        return partial(jobs.give_back, job=job, reason=reason, counts=True)

    def _let_go(self, hold: Hold) -> None:
        if hold.is_lost:
            logger.warning("The lease on job %s is lost; what was not written stays unwritten.", hold.job.pk)
            self.past.lost_touch()
        elif hold.is_cancelled:
            jobs.stop(job=hold.job)
        elif hold.is_over_time:
            jobs.end_over_time(job=hold.job)
        else:
            jobs.release(job=hold.job)

    def _announce(self) -> None:
        self.past.settle()
        before, self._mark = self._mark, noise.mark(os.getpid())
        jobs.register_worker(
            name=self.name,
            queues=[self.queue],
            devices=[describe(device_of(self.queue))],
            versions=_versions(),
            machine=gauges.boot() or socket.gethostname(),
            memory=_memory(self.queue),
            marks=asdict(evidence.marks()),
            others=noise.share_of_others(before, self._mark),
        )
        heartbeat.beat()


def _memory(queue: str) -> int:
    """Bytes of memory of the machine, or on the GPU queue of its largest GPU where that has more."""
    there = [gpu.memory_total or 0 for gpu in read(())] if queue == Queue.GPU else []
    return max([*there, gauges.memory_limit()])


def _require_new_enough(job: Job) -> None:
    if _number(job.version) > _number(version()):
        raise NotHere(
            f"It was submitted by Drafthouse {job.version}, and this worker is {version()}: bring it up to date."
        )


def _number(version: str) -> tuple[int, ...]:
    """Return the numbers of the release; a commit has no order."""
    return tuple(map(int, re.findall(r"\d+", version.partition("+")[0])))


def _versions() -> dict[str, str]:
    """Versions of the packages that matter, read without importing any of them."""
    found = {"drafthouse": version()}
    for package in ("torch", "transformers", "safetensors"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
