"""How the machine fares while a job runs, once a second, from a thread of its own: neither decoding nor the heartbeat
waits for a sensor. A reading that cannot be stored is left out; the job is worth more."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from django.db import Error, connection

from webapp.jobs import telemetry as store
from worker import gauges, noise
from worker.gauges import CpuTime
from worker.pulse import Hold, outage

EVERY = 1.0  # s

logger = logging.getLogger("drafthouse.worker")


@contextmanager
def recording(hold: Hold, engine_pid: Callable[[], int | None]) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=_record, args=(hold, engine_pid, stop), name="telemetry", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _record(hold: Hold, engine_pid: Callable[[], int | None], stop: threading.Event) -> None:
    """The last reading comes with the end, so that a short job has one too."""
    gauge = Gauge(engine_pid())
    is_over = False
    while not is_over:
        is_over = stop.wait(EVERY)
        try:
            store.keep(job=hold.job, values={**gauge.read(engine_pid()), "event_lag_s": hold.take_event_lag()})
        except Error as error:
            outage.begins(error)  # this reading is left out
            connection.close()
        except OSError as error:
            logger.warning("A reading of the machine is left out (%s).", error)
    connection.close()


class Gauge:
    """Shares are of the time since the last reading."""

    def __init__(self, engine_pid: int | None) -> None:
        self._pid, self._mark = engine_pid, noise.mark(engine_pid)

    def read(self, engine_pid: int | None) -> dict[str, Any]:
        before, now = self._mark, noise.mark(engine_pid)
        shares = [_busy(one, other) for one, other in zip(before.cores, now.cores, strict=False)]
        earlier = before.engine if engine_pid == self._pid else 0.0  # a new engine has used nothing before
        spent, whole = (now.engine or 0.0) - (earlier or 0.0), now.cores[0].all - before.cores[0].all
        engine = min(1.0, max(0.0, spent) / whole) if whole else 0.0
        self._pid, self._mark = engine_pid, now
        used, total = gauges.memory()
        return {
            "cores": [round(share, 3) for share in shares[1:]],
            "engine": round(engine, 3),
            "others": round(max(0.0, shares[0] - engine), 3),
            "load": round(os.getloadavg()[0], 2),
            "clocks_mhz": [round(clock) for clock in now.clocks],
            "memory_used": used,
            "memory_total": total,
            "engine_memory": gauges.memory_of(engine_pid) if engine_pid else 0,
            "temperature_c": gauges.temperature_c(),
            "gpus": [asdict(gpu) for gpu in now.gpus],
        }


def _busy(before: CpuTime, after: CpuTime) -> float:
    whole = after.all - before.all
    return 1 - (after.idle - before.idle) / whole if whole else 0.0
