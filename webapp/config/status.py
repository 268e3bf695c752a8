"""The state of the installation, for its operator. Nothing here is secret: settings are named one by one."""

from __future__ import annotations

import platform
import shutil
from importlib import metadata
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count
from rest_framework import serializers

from webapp.comparisons.models import Comparison, Sample
from webapp.config import readiness
from webapp.core import broker, edition
from webapp.core.version import version
from webapp.jobs.models import Job, JobState, Worker
from webapp.jobs.serializers import WorkerOut
from webapp.uploads import store

PACKAGES = ("Django", "djangorestframework", "channels", "celery", "redis", "uvicorn")
MOST_RUNNING = 200  # shown


class RunningOut(serializers.Serializer[Any]):
    """A running job of any team. The operator may cancel it, and need not know what it is called."""

    id = serializers.UUIDField()
    kind_label = serializers.CharField()
    team = serializers.CharField()
    worker = serializers.CharField()
    started = serializers.DateTimeField()


class SystemOut(serializers.Serializer[Any]):
    versions = serializers.DictField(child=serializers.CharField())
    database = serializers.DictField()
    broker = serializers.DictField()
    store = serializers.DictField()
    disk = serializers.DictField()
    queue = serializers.DictField(child=serializers.DictField())
    workers = WorkerOut(many=True)
    running = RunningOut(many=True)
    counts = serializers.DictField(child=serializers.IntegerField())
    configuration = serializers.DictField()
    warnings = serializers.ListField(child=serializers.CharField())


def system() -> dict[str, Any]:
    parts, disk = readiness.look()["parts"], shutil.disk_usage(settings.DATA_DIR)
    parts.setdefault("broker", {"ok": False, "reason": broker.trouble()})  # where none is set, none is needed
    workers = list(Worker.objects.alive())
    return {
        "versions": _versions(),
        "database": _database(),
        "broker": parts["broker"],
        "store": {**store.current().told(), **parts["store"]},
        "disk": {"free_bytes": disk.free, "total_bytes": disk.total},
        "queue": _queue(),
        "workers": workers,
        "running": list(
            Job.objects.filter(state=JobState.RUNNING).select_related("team").order_by("started")[:MOST_RUNNING]
        ),
        "counts": {"comparisons": Comparison.objects.count(), "samples": Sample.objects.count()},
        "configuration": _configuration(),
        "warnings": _warnings(parts, workers),
    }


def _versions() -> dict[str, str]:
    ours = {"Drafthouse": version(), "schema": edition.schema(), "Python": platform.python_version()}
    return ours | {name: metadata.version(name) for name in PACKAGES}


def _database() -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT sqlite_version()" if connection.vendor == "sqlite" else "SHOW server_version")
        number = cursor.fetchone()[0]
    return {"kind": connection.vendor, "version": number}


def _queue() -> dict[str, dict[str, int]]:
    counted: dict[str, dict[str, int]] = {}
    for queue, state, count in Job.objects.values_list("queue", "state").annotate(Count("pk")):
        counted.setdefault(queue, {})[state] = count
    return counted


def _configuration() -> dict[str, Any]:
    return {
        "hosts": settings.ALLOWED_HOSTS,
        "https": settings.HTTPS,
        "debug": settings.DEBUG,
        "team_quota_bytes": settings.TEAM_QUOTA_BYTES,
        "chunk_bytes": settings.CHUNK_BYTES,
        "storage": " ".join(store.current().told().values()),
        "model_roots": [str(root) for root in settings.MODEL_ROOTS],
    }


def _warnings(parts: dict[str, Any], workers: list[Worker]) -> list[str]:
    found = [part["reason"] for part in parts.values() if part["reason"]]
    if not workers:
        found.append("No worker is alive; jobs wait. Start one with `./drafthouse up`.")
    if not parts["broker"]["ok"]:
        found.append("Without a broker idle workers look for jobs on their own, every 10 s.")
    found += [sentence for worker in workers for sentence in (worker.crowd, worker.clock_trouble) if sentence]
    if settings.DEBUG:
        found.append("Debugging is on; errors show their insides. Unset DRAFTHOUSE_DEBUG.")
    return found
