"""A worker: takes a job, does it with its engine process, says how it ended, takes the next."""

from __future__ import annotations

import logging
import os
import re
import socket
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path

from django.db import Error, InterfaceError, OperationalError, close_old_connections, connection

from decoding.errors import DrafthouseError
from webapp.core.problems import Problem
from webapp.core.version import version
from webapp.jobs import services as jobs
from webapp.jobs.models import Job, Kind, Queue
from webapp.uploads.store import StoreTrouble
from worker import comparison_job, gauges, leash, lengths_job, model_job, study_job, training_job, unpacking_job
from worker.database import Stopped, insist
from worker.engine_process import EngineDied, EngineProcess
from worker.gpus import read, told
from worker.listening import hush
from worker.materials import NotHere, cached, device_of
from worker.pulse import Hold, Pulse
from worker.telemetry import recording

logger = logging.getLogger("drafthouse.worker")

Work = Callable[[Hold, EngineProcess], None]
WORK: dict[str, Work] = {
    Kind.COMPARISON: comparison_job.compare,
    Kind.TRAINING: training_job.train,
    Kind.ORACLE: study_job.study,
    Kind.PLAN: study_job.study,
    Kind.CHECK_MODEL: model_job.check,
    Kind.FETCH_MODEL: model_job.check,
    Kind.UNPACK: unpacking_job.unpack,
    Kind.COUNT_TOKENS: lengths_job.count,
}


class Hands:
    def __init__(self, name: str, queue: str) -> None:
        self.name = name
        self.queue = queue
        self.engine = EngineProcess()
        self.pulse = Pulse(self._announce)

    def begin(self) -> None:
        """Before the first look. What a worker of this name held when it was killed need not wait for its lease."""
        try:
            self._announce()
            before = os.environ.get(leash.BEFORE)  # None: nobody watches over us who could tell
            ended = "went down with its supervisor" if before == "" else f"was {before or 'ended'}"
            jobs.take_back(worker=self.name, ended=ended, with_its_holder=before == "")
        except Error as error:
            logger.warning("The database does not answer (%s).", error)
            connection.close()
        self.pulse.start()

    def stop(self) -> None:
        """From a signal's handler: the job in hand notices."""
        self.pulse.stop()

    def look(self) -> None:
        """Do what waits, until nothing does."""
        while not self.pulse.is_stopping:
            close_old_connections()
            try:
                job = jobs.claim(worker=self.name, queues=[self.queue])
                if job is None:
                    return
                with self.pulse.holding(job) as hold, recording(hold, lambda: self.engine.pid):
                    self._work(hold)
                hush(self.engine)  # its time is not to be spent on what nobody hears
            except Error as error:
                logger.warning("The database does not answer (%s).", error)
                connection.close()
                return  # the scheduler wakes us again

    def _work(self, hold: Hold) -> None:
        try:
            insist(hold, self._done(hold))
        except Stopped:
            self._put_down(hold)

    def _done(self, hold: Hold) -> Callable[[], bool]:
        """Do it, and give back how to write down what became of it: the database may be away just then."""
        job = hold.job
        try:
            _require_new_enough(job)
            WORK[job.kind](hold, self.engine)
        except (StoreTrouble, EngineDied) as trouble:
            return partial(jobs.give_back, job=job, reason=f"{self.name}: {trouble}")
        except (Problem, DrafthouseError) as refusal:
            return partial(jobs.fail, job=job, reason=str(refusal))
        except NotHere as why:
            return partial(jobs.refuse, job=job, reason=str(why))
        except (Stopped, OperationalError, InterfaceError):
            raise
        except Exception as error:
            logger.exception("an error of our own")
            reason = f"{self.name} met an error of its own: {type(error).__name__}: {error}"
            return partial(jobs.give_back, job=job, reason=reason)
        return partial(jobs.succeed, job=job)

    def _put_down(self, hold: Hold) -> None:
        if hold.is_lost:
            logger.warning("The lease on %s is lost; what was not written stays unwritten.", hold.job)
        elif hold.is_cancelled:
            jobs.stop(job=hold.job)
        else:
            jobs.release(job=hold.job)

    def _announce(self) -> None:
        jobs.announce(
            name=self.name,
            queues=[self.queue],
            devices=[_described(device_of(self.queue))],
            versions=_versions(),
            cached=cached(),
            machine=_machine(),
            memory=_memory(self.queue),
        )


def _machine() -> str:
    """The same for all containers of one machine, where the system tells."""
    told = Path("/proc/sys/kernel/random/boot_id")
    return told.read_text().strip() if told.exists() else socket.gethostname()


def _memory(queue: str) -> int | None:
    """In bytes, of the roomiest place where a draft may work: the machine's, or on the GPU queue a GPU's."""
    there = [gpu.memory_total or 0 for gpu in read(())] if queue == Queue.GPU else []
    return max([*there, gauges.memory_limit() or 0]) or None


def _described(device: str) -> str:
    return device if device == "cpu" else told(device)


def _require_new_enough(job: Job) -> None:
    if _number(job.version) > _number(version()):
        raise NotHere(
            f"It was submitted by Drafthouse {job.version}, and this worker is {version()}: bring it up to date."
        )


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def _versions() -> dict[str, str]:
    """Without importing any of them."""
    found = {"drafthouse": version()}
    for package in ("torch", "transformers", "safetensors"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found
