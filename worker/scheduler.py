"""`python -m worker.scheduler`: looks, every two seconds, for what nobody would be told of otherwise: jobs whose worker
has gone silent, jobs of people who were deactivated, waiting jobs whose message was lost, ended comparisons without
figures, and what the bin may lose."""

from __future__ import annotations

import logging
import os
import signal
import threading
from typing import TYPE_CHECKING

import django

from worker import heartbeat, leash

if TYPE_CHECKING:
    from webapp.core.outage import Outage
    from webapp.jobs.leases import Reaper

EVERY = 2.0  # s
SWEEP_FILES_EVERY = 1800  # rounds, about an hour
SUM_UP_FOR = 1.0  # s in one look: figures of ended comparisons may wait, silent workers may not

logger = logging.getLogger("drafthouse.scheduler")


def main() -> None:
    leash.put_on()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    django.setup()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    from webapp.core import damage, logs
    from webapp.core.outage import Outage
    from webapp.jobs.leases import Reaper

    logs.name_process("scheduler")
    damage.look()
    reaper, rounds = Reaper(), 0
    outage = Outage("the database", logger, meanwhile=f"the scheduler looks again every {EVERY:.0f} s")
    while not stop.is_set():
        look(reaper, rounds, outage)
        rounds += 1
        stop.wait(EVERY)


def look(reaper: Reaper, rounds: int, outage: Outage) -> None:
    from django.db import Error, close_old_connections, connection

    from webapp.comparisons import figures
    from webapp.entries.purge import purge
    from webapp.jobs import retention
    from webapp.jobs import services as jobs
    from webapp.registry import prompt_sets
    from webapp.uploads import services as uploads

    close_old_connections()
    try:
        reaper.look()
        jobs.end_those_of_deactivated()
        jobs.wake_workers()
        figures.sum_up_ended(seconds=SUM_UP_FOR)
        if rounds % SWEEP_FILES_EVERY == SWEEP_FILES_EVERY - 1:
            purge()
            prompt_sets.sweep()
            retention.sweep()
            uploads.sweep()
        outage.ends()
        heartbeat.beat()
    except Error as error:
        outage.begins(error)
        connection.close()


if __name__ == "__main__":
    main()
