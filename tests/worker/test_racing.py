"""Two worker processes race for the same jobs."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from django.db import connection
from django.utils import timezone

from webapp.jobs.models import Job, JobEvent, Kind, Queue

ROOT = Path(__file__).parents[2]
JOB_COUNT = 1000
RACER = """
import json, sys
name, database = sys.argv[1], json.loads(sys.argv[2])
from webapp.config import settings as ours
ours.DATABASES["default"].update(database)
import django; django.setup()
from webapp.jobs import services

print("ready", flush=True)
sys.stdin.readline()
while job := services.claim(worker=name, queues=["cpu"]):
    print(job.pk, flush=True)
    assert services.succeed(job=job)
"""


def racer(name: str, database: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RACER, name, database]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_every_job_is_claimed_once(team):
    Job.objects.bulk_create(
        Job(team=team.home, created_by=team.user, kind=Kind.COMPARISON, queue=Queue.CPU, title=str(number))
        for number in range(JOB_COUNT)
    )
    there = json.dumps({key: str(connection.settings_dict[key]) for key in ("NAME",)})
    with ExitStack() as running:
        racers = [running.enter_context(racer(name, there)) for name in ("w1", "w2")]
        for one in racers:
            assert one.stdout.readline() == "ready\n"
        for one in racers:
            one.stdin.write("go\n")
            one.stdin.flush()
        claimed = [one.communicate(timeout=120)[0].split() for one in racers]
    assert [one.returncode for one in racers] == [0, 0]
    assert len(claimed[0]) + len(claimed[1]) == len({*claimed[0], *claimed[1]}) == JOB_COUNT
    assert Job.objects.filter(state="succeeded", attempt=1, finished__lte=timezone.now()).count() == JOB_COUNT
    assert JobEvent.objects.filter(state="running").count() == JOB_COUNT
