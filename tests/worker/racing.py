"""Several worker processes race for the same jobs: all look at the same moment, again and again, until none is left."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from django.db import connection

from webapp.accounts.actor import Actor
from webapp.comparisons.kinds import COMPARISON
from webapp.jobs.models import Job, JobEvent, Queue

ROOT = Path(__file__).parents[2]
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


def race(by: Actor, job_count: int, racer_count: int) -> list[list[str]]:
    """Return the jobs that each racer claimed. All start each look together, so that none is ahead however the machine
    deals its time, and each gets something while there is something for all."""
    Job.objects.bulk_create(
        Job(**COMPARISON.columns(), team=by.home, created_by=by.user, queue=Queue.CPU, title=str(number))
        for number in range(job_count)
    )
    there = json.dumps({"NAME": str(connection.settings_dict["NAME"])})
    with ExitStack() as running:
        racers = [running.enter_context(_racer(f"w{number + 1}", there)) for number in range(racer_count)]
        assert {one.stdout.readline() for one in racers} == {"ready\n"}
        claimed: list[list[str]] = [[] for _ in racers]
        while sum(map(len, claimed)) < job_count:
            for one in racers:
                one.stdin.write("look\n")
                one.stdin.flush()
            for mine, one in zip(claimed, racers, strict=True):
                said = one.stdout.readline().strip()
                assert said, "a racer has broken down; it says above why"
                mine += [said] if said != "nothing" else []
        for one in racers:
            one.communicate()
        assert [one.returncode for one in racers] == [0] * racer_count
    return claimed


def verdict(claimed: list[list[str]]) -> dict[str, int]:
    """Count the jobs as the racers report them and as the database does."""
    every = [job for mine in claimed for job in mine]
    return {
        "claimed": len(every),
        "claimed_twice": len(every) - len(set(every)),
        "fewest": min(map(len, claimed)),
        "succeeded_at_once": Job.objects.filter(state="succeeded", attempt=1).count(),
        "starts_told": JobEvent.objects.filter(state="running").count(),
    }


def _racer(name: str, database: str) -> Any:
    command = [sys.executable, "-c", RACER, name, database]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
