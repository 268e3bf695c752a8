"""Measure how long others wait while one member uploads, previews and adds many files of 100,000 prompts at once.

    ./drafthouse bench crowd [--files 16] [--others 4] [--comparisons 1000] [--postgres]

Others read pages and lists and submit small prompt sets, one after another, and a worker decodes a comparison. Half of
their answers may take 0.3 s and 95 % of them 1 s; no request may fail, and the job may not lose its lease.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import sys
import time
import urllib.request
from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks._serving import load, place, serving, verdict
from tests.kit.up import Up
from worker.terminal.send import FileToSend, send
from worker.terminal.service import Service

ROWS, PATIENCE_S = 100_000, 1800  # in each file; for each answer
BARS = {"median_s": 0.3, "p95_s": 1.0}
TOKEN = "DRAFTHOUSE_TOKEN"


def headers_of(user: Any) -> dict[str, str]:
    """Headers that a program's token and a browser's session bring along."""
    from benchmarks._sessions import session_of
    from webapp.accounts import actor, services
    from webapp.accounts.models import Scope

    token = services.create_token(name=f"{uuid4()}", scope=Scope.SUBMIT, days=1, by=actor.of_user(user))[1]
    return {"Authorization": f"Bearer {token}", "Cookie": f"dh_session={session_of(user)}"}


def add(up: Up, folder: Path, number: int) -> float:
    """Upload, preview and add one file, as the member whose token is in the environment. Return the seconds."""
    start, file = time.monotonic(), folder / f"many-{number}.jsonl"
    file.write_text("".join(f'{{"prompt": "{number}-{row}"}}\n' for row in range(ROWS)))
    upload = send(Service(up.address), file.stem, [FileToSend(file.name, file)])["id"]
    up.call("datasets/preview/", os.environ[TOKEN], {"upload": upload}, PATIENCE_S)
    up.call("datasets/", os.environ[TOKEN], {"upload": upload, "name": file.stem}, PATIENCE_S)
    return time.monotonic() - start


def work(up: Up, headers: dict[str, str], one: str, adding: list[Future[float]]) -> Any:
    """Ask one thing after another until all files are added. Return the seconds of the answers by address."""
    waits = defaultdict(list)
    api = "/api/v1/datasets/"
    for path in itertools.cycle(("/comparisons/", "/runs/", f"/api/v1/comparisons/{one}/", "/api/v1/jobs/", api)):
        few = {"name": f"few {uuid4()}", "text": "one\ntwo\nthree", "file_name": "few.txt"}
        content = json.dumps(few).encode() if path == api else None
        start = time.monotonic()
        request = urllib.request.Request(up.address + path, content, headers | {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=PATIENCE_S).read()
        waits[path.replace(one, "ID")].append(time.monotonic() - start)
        if all(each.done() for each in adding):
            return waits


def measure(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    from django.db import connection

    from benchmarks._kept import filled
    from webapp.accounts.models import User

    things = filled(folder, asked.comparisons)
    one, others = str(things["comparison"].pk), [headers_of(things["users"]) for _ in range(asked.others)]
    os.environ[TOKEN] = headers_of(User.objects.get(username="charlie"))["Authorization"].split()[1]
    connection.close()
    with serving(folder, workers=1) as up, ThreadPoolExecutor(asked.files + asked.others) as hands:
        body = {"pair": "Starter", "dataset": "Starter code", "strategies": ["static:4"]}
        job = up.call("comparisons/", up.token(), body)["job"]["id"]
        adding = [hands.submit(add, up, folder, number) for number in range(asked.files)]
        working = [hands.submit(work, up, each, one, adding).result for each in others]
        waits = [each() for each in working]
        slowest, told = max([each.result() for each in adding], default=0.0), up.call(f"jobs/{job}/", up.token())
    by_kind = {what: spread(*(each[what] for each in waits)) for what in waits[0]}
    return {"database": connection.vendor, "machine": load(), "slowest_file_s": round(slowest), **by_kind,
            "all": spread(*(times for each in waits for times in each.values())),
            "job": [told[name] for name in ("state", "attempt", "done_count")]}  # fmt: skip


def spread(*seconds: list[float]) -> dict[str, float]:
    twentieths = statistics.quantiles(every := [*itertools.chain(*seconds)], n=20)
    return {"answers": len(every), "median_s": round(twentieths[9], 3), "p95_s": round(twentieths[18], 3)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench crowd", description=__doc__)
    for name, usual in (("files", 16), ("others", 4), ("comparisons", 1000)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server of its own instead of SQLite")
    with place(postgres=(asked := parser.parse_args()).postgres) as folder:
        outcome = measure(folder, asked)
    print("\n".join(f"{name:26} {json.dumps(value)}" for name, value in outcome.items()))
    fine = [verdict(f"{name} of the answers", outcome["all"][name], bar) for name, bar in BARS.items()]
    return int(not all([*fine, verdict("attempts at the job", outcome["job"][1], 1)]))


if __name__ == "__main__":
    sys.exit(main())
