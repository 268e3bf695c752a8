"""Worker processes race for the same jobs: all look at the same moment, again and again, until none is left."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.db import connection

from webapp.comparisons.kinds import COMPARISON
from webapp.jobs.models import Job, JobEvent, Queue

JOB_COUNT, RACERS = 60, 3
ROOT = Path(__file__).parents[3]
RACER = """
import json, sys
name, database = sys.argv[1], json.loads(sys.argv[2])
from webapp.config import settings as ours
ours.DATABASES["default"].update(database)
import django; django.setup()
from webapp.jobs import services

print("ready", flush=True)
while sys.stdin.readline():
    job = services.claim(worker=name, queues=["cpu"])
    print(job.pk if job else "nothing", flush=True)
    assert job is None or services.succeed(job=job)
"""


def racer(name: str) -> Any:
    command = [sys.executable, "-c", RACER, name, json.dumps({"NAME": str(connection.settings_dict["NAME"])})]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_every_job_is_claimed_once_and_every_racer_claims_some(team):
    """All start each look together, so that none is ahead however the machine deals its time."""
    Job.objects.bulk_create(
        Job(**COMPARISON.columns(), team=team.home, created_by=team.user, queue=Queue.CPU, title=str(number))
        for number in range(JOB_COUNT)
    )
    with ExitStack() as running:
        racers = [running.enter_context(racer(f"w{number + 1}")) for number in range(RACERS)]
        assert {one.stdout.readline() for one in racers} == {"ready\n"}
        claimed: list[list[str]] = [[] for _ in racers]
        while sum(map(len, claimed)) < JOB_COUNT:
            for one in racers:
                one.stdin.write("look\n")
                one.stdin.flush()
            for mine, one in zip(claimed, racers, strict=True):
                said = one.stdout.readline().strip()
                assert said, "a racer has broken down; it says above why"
                mine += [said] if said != "nothing" else []
        for one in racers:
            one.communicate()
        assert [one.returncode for one in racers] == [0] * RACERS
    assert len({job for mine in claimed for job in mine}) == sum(map(len, claimed)) == JOB_COUNT
    assert min(map(len, claimed)) == JOB_COUNT // RACERS
    assert Job.objects.filter(state="succeeded", attempt=1).count() == JOB_COUNT
    assert JobEvent.objects.filter(state="running").count() == JOB_COUNT
