"""Sensor readings of machines while jobs ran: stored within bounds, and summed up in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from webapp.jobs.models import Job, Reading

MOST = 900  # of a job: a quarter of an hour at one a second; of longer jobs, the older the part, the coarser


@transaction.atomic
def keep(*, job: Job, values: Mapping[str, Any]) -> None:
    """Store a reading. When a job has too many, every second one goes."""
    Reading.objects.create(job=job, attempt=job.attempt, worker=job.worker, at=Now(), values=dict(values))
    if Reading.objects.filter(job=job).count() > MOST:
        every = list(Reading.objects.filter(job=job).values_list("pk", flat=True))
        Reading.objects.filter(pk__in=every[1::2]).delete()


def read(job: Job) -> list[Reading]:
    return list(Reading.objects.filter(job=job))


def facts(readings: Sequence[Reading]) -> list[tuple[str, str]]:
    """Sum up readings: a name and a sentence for each sensor that was read."""
    values = [reading.values for reading in readings]
    if not values:
        return []
    found = [
        ("cores", _cores(values)),
        ("clock", _range(_every(values, "clocks_mhz"), "GHz", 1000)),
        ("memory", _memory(values)),
        ("temperature", _range((value["temperature_c"] for value in values), "°C")),
    ]
    names = dict.fromkeys(gpu["name"] for value in values for gpu in value["gpus"])
    found += [(name, _gpu([gpu for gpu in _every(values, "gpus") if gpu["name"] == name])) for name in names]
    return [(name, sentence) for name, sentence in found if sentence]


def _cores(values: Sequence[Mapping[str, Any]]) -> str:
    count = len(values[-1]["cores"])
    if not count:
        return ""
    engine = sum(value["engine"] for value in values) / len(values)
    others = [value["others"] for value in values]
    mean, most = sum(others) / len(others), max(others)
    return (
        f"{100 * engine:.0f} % of {count} used by the engine, {100 * mean:.0f} % by others ({100 * most:.0f} % at most)"
    )


def _memory(values: Sequence[Mapping[str, Any]]) -> str:
    total = values[-1]["memory_total"]
    if not total:
        return ""
    engine, used = (max(value[name] for value in values) / 2**30 for name in ("engine_memory", "memory_used"))
    return f"engine {engine:.1f} GiB at most, all {used:.1f} of {total / 2**30:.1f} GiB"


def _gpu(gpus: Sequence[Mapping[str, Any]]) -> str:
    busy = [gpu["utilisation"] for gpu in gpus if gpu["utilisation"] is not None]
    held_back = dict.fromkeys(reason for gpu in gpus for reason in gpu["held_back"])
    others = max(gpu["others"] for gpu in gpus)
    parts = [
        f"{100 * sum(busy) / len(busy):.0f} % busy" if busy else "",
        _range((gpu["clock_mhz"] for gpu in gpus), "MHz"),
        _range((gpu["temperature_c"] for gpu in gpus), "°C"),
        _range((gpu["power_w"] for gpu in gpus), "W"),
        f"held back by {' and '.join(held_back)}" if held_back else "",
        f"shared with {others} other program{'s' * (others > 1)}" if others else "",
    ]
    return ", ".join(part for part in parts if part)


def _every(values: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    return [item for value in values for item in value[name]]


def _range(numbers: Iterable[float | None], unit: str, divisor: int = 1) -> str:
    there = [number / divisor for number in numbers if number is not None]
    if not there:
        return ""
    digits = 2 if divisor > 1 else 0
    low, high = f"{min(there):.{digits}f}", f"{max(there):.{digits}f}"
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
