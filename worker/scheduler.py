"""`python -m worker.scheduler`: looks, every two seconds, for what nobody would be told of otherwise: jobs whose worker
has gone silent, jobs of people who were deactivated, waiting jobs whose message was lost, ended comparisons without
figures, and what the bin may lose."""

from __future__ import annotations

import logging
import os
import signal
import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import django

from worker import heartbeat, leash

if TYPE_CHECKING:
    from webapp.core.outage import Outage
    from webapp.jobs.leases import Reaper

EVERY = 2.0  # s
SWEEP_EVERY = timedelta(hours=1)
SWEPT = "swept"  # the fact whose time is that of the last sweep, so that restarts neither skip nor repeat one
SUM_UP_FOR = 1.0  # s in one look: figures of ended comparisons may wait, silent workers may not

logger = logging.getLogger("drafthouse.scheduler")


def main() -> None:
    leash.put_on()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    django.setup()
    from webapp.core import logs, start
    from webapp.core.outage import Outage
    from webapp.jobs.leases import Reaper

    logs.name_process("scheduler")
    start.wait(logger)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    reaper = Reaper()
    outage = Outage("the database", logger, meanwhile=f"the scheduler looks again every {EVERY:.0f} s")
    while not stop.is_set():
        look(reaper, outage)
        stop.wait(EVERY)


def look(reaper: Reaper, outage: Outage) -> None:
    from django.db import Error, close_old_connections, connection

    from webapp.comparisons import figures
    from webapp.jobs import services as jobs

    close_old_connections()
    try:
        reaper.look()
        jobs.end_those_of_deactivated()
        jobs.wake_workers()
        figures.sum_up_ended(seconds=SUM_UP_FOR)
        if is_time_to_sweep():
            sweep()
        outage.ends()
        heartbeat.beat()
    except Error as error:
        outage.begins(error)
        connection.close()


def is_time_to_sweep() -> bool:
    """Whether an hour has passed. Of two schedulers, one hears so."""
    from django.db.models.functions import Now

    from webapp.core.models import Fact

    is_first = Fact.objects.get_or_create(name=SWEPT)[1]
    due = Fact.objects.filter(name=SWEPT, at__lt=Now() - SWEEP_EVERY)
    return is_first or (due.exists() and bool(due.update(at=Now())))


def sweep() -> None:
    """Delete what is due. The store may be away: jobs must not wait for it."""
    from webapp.core.problems import Problem
    from webapp.entries.purge import purge
    from webapp.jobs import retention
    from webapp.registry import prompt_sets
    from webapp.uploads import services as uploads

    try:
        purge()
        prompt_sets.sweep()
        retention.sweep()
        uploads.sweep()
    except (Problem, OSError) as error:
        logger.warning("The store cannot be swept (%s); the next sweep is in an hour.", error)


if __name__ == "__main__":
    main()
