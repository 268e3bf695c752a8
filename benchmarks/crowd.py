"""Send many requests at once, reading and submitting, for two minutes: none may fail.

    ./drafthouse bench crowd [--at-once 200] [--seconds 120] [--comparisons 1000] [--adds 0] [--postgres] [--json FILE]

With `--adds 16`, a member of another team previews and adds 16 files of 100,000 prompts at once meanwhile; then half of
the others' answers may take 0.3 s, and 95 % of them 1 s.

Each of the 200 clients is a program or a browser: it keeps its connection, asks, reads the answer and asks again. One
request in four submits a comparison or prompts, which no worker decodes. Clients and service share the machine.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from benchmarks._serving import LINE, Web, load, place, serving, verdict

TOKENS = 40  # each may be used 1,200 times per minute
ROWS = 100_000  # in each file that is added
MEDIAN_S, P95_S = 0.3, 1.0  # while files are added
PATIENCE_S = 600


@dataclass
class Asked:
    """Results: how often each status came, how long answers took, and what failed."""

    answers: Counter[str] = field(default_factory=Counter)
    took_s: list[float] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, what: str, status: int, took_s: float, told: bytes) -> None:
        with self.lock:
            self.answers[f"{what} {status}"] += 1
            self.took_s.append(took_s)
            if status not in (200, 201, 202):
                self.wrong[f"{what}: {status} {told[:200].decode(errors='replace')}"] += 1

    def fail(self, what: str, error: Exception) -> None:
        with self.lock:
            self.wrong[f"{what}: {type(error).__name__} {error}"] += 1


def client(number: int, address: str, work: list[Any], until: float, asked: Asked) -> None:
    """Repeat the work, each client from another starting point."""
    line = connect(address)
    turn = number
    while time.monotonic() < until:
        ask(line, asked, *work[turn % len(work)])
        turn += 1
    line.close()


def connect(address: str) -> http.client.HTTPConnection:
    where = urlsplit(address)
    return http.client.HTTPConnection(where.hostname, where.port, timeout=PATIENCE_S)


def ask(
    line: http.client.HTTPConnection, asked: Asked, method: str, path: str, headers: dict[str, str], body: Any
) -> None:
    start = time.monotonic()
    try:
        if method == "POST":
            headers = {**headers, "Content-Type": "application/json"}
            body = body if "preview" in path else {**body, "name": f"crowd {uuid4()}"}
        line.request(method, path, json.dumps(body) if body else None, headers)
        answer = line.getresponse()
        told = answer.read()
    except (OSError, http.client.HTTPException) as error:
        asked.fail(f"{method} {path}", error)
        line.close()
    else:
        asked.note(method, answer.status, time.monotonic() - start, told)


def add(address: str, work: list[Any], asked: Asked) -> None:
    line = connect(address)
    for request in work:
        ask(line, asked, *request)
    line.close()


def the_work(world: Any, things: dict[str, Any]) -> list[tuple[str, str, dict[str, str], Any]]:
    """Requests, three to read for one to submit, by programs and by browsers."""
    from benchmarks._sessions import session_of
    from tests.kit import make
    from webapp.accounts import services as accounts
    from webapp.accounts.models import Scope

    by = world.actor(world.alice)
    tokens = [accounts.create_token(name=f"{n}", scope=Scope.SUBMIT, days=1, by=by)[1] for n in range(TOKENS)]
    browser = {"Cookie": f"dh_session={session_of(world.bob)}"}
    one = things["comparison"].pk
    comparison = {**make.body(things["pair"], things["dataset"]), "limit": 2}
    prompts = {"text": "one\ntwo\nthree", "file_name": "crowd.txt"}
    work = []
    for token in tokens:
        program = {"Authorization": f"Bearer {token}"}
        work += [
            ("GET", "/api/v1/comparisons/?limit=10", program, None),
            ("GET", "/comparisons/", browser, None),
            ("GET", f"/api/v1/samples/?comparison={one}&limit=10", program, None),
            ("POST", "/api/v1/comparisons/", program, comparison),
            ("GET", "/runs/", browser, None),
            ("GET", f"/api/v1/comparisons/{one}/", program, None),
            ("GET", "/api/v1/jobs/?limit=10", program, None),
            ("POST", "/api/v1/datasets/", program, prompts),
        ]
    return work


def additions(world: Any, count: int) -> list[list[Any]]:
    """Return, for each file of many prompts, the requests that preview and add it."""
    from tests.kit import make
    from webapp.accounts import services as accounts
    from webapp.accounts.models import Scope

    by = world.actor(world.charlie)
    token = accounts.create_token(name="adds", scope=Scope.SUBMIT, days=1, by=by)[1]
    lines = "".join(f'{{"prompt": "a{number}"}}\n' for number in range(ROWS)).encode()
    uploads = [make.upload(by, {"many.jsonl": lines}, f"many {number}") for number in range(count)]
    program = {"Authorization": f"Bearer {token}"}
    addresses = "/api/v1/datasets/preview/", "/api/v1/datasets/"
    return [[("POST", path, program, {"upload": str(each.pk)}) for path in addresses] for each in uploads]


def crowd(address: str, work: list[Any], at_once: int, seconds: float) -> Asked:
    asked = Asked()
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=client, args=(n, address, work, until, asked)) for n in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return asked


def measure(at_once: int, seconds: float, comparison_count: int, add_count: int) -> dict[str, Any]:
    from django.conf import settings
    from django.db import connection

    from benchmarks._filling import fill
    from webapp.comparisons.models import Comparison
    from webapp.registry.models import Dataset

    world, things = fill(comparison_count)
    work, files, added = the_work(world, things), additions(world, add_count), Asked()
    connection.close()
    with serving(Path(settings.DATA_DIR)) as up:
        web = Web(up)
        before = Comparison.objects.count() + Dataset.objects.count()
        adding = [threading.Thread(target=add, args=(up.address, each, added)) for each in files]
        for thread in adding:
            thread.start()
        asked = crowd(up.address, work, at_once, seconds)
        for thread in adding:
            thread.join()
        memory = web.memory_mib("VmHWM")
        errors = sum(match["status"] >= "500" for match in LINE.finditer(up.said))
    kept = Comparison.objects.count() + Dataset.objects.count() - before
    took = sorted(asked.took_s)
    return {
        "database": connection.vendor,
        "at_once": at_once,
        "seconds": seconds,
        "answers": dict(asked.answers),
        "wrong": dict((asked.wrong + added.wrong).most_common(10)),
        "adds": {"answers": dict(added.answers), "took_s": [round(took, 1) for took in added.took_s]},
        "server_errors": errors,
        "lost": (asked.answers + added.answers)["POST 201"] + asked.answers["POST 202"] - kept,
        "a_second": round(len(took) / seconds, 1),
        "median_s": round(took[len(took) // 2], 2),
        "p95_s": round(took[int(len(took) * 0.95)], 2),
        "web_mib": round(memory),
        "machine": load(),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench crowd", description=__doc__)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--comparisons", type=int, default=1000)
    parser.add_argument("--adds", type=int, default=0, help="files of 100,000 prompts added at once meanwhile")
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server of its own instead of SQLite")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with place(postgres=asked.postgres):
        outcome = measure(asked.at_once, asked.seconds, asked.comparisons, asked.adds)
    print(json.dumps(outcome, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(outcome, indent=1) + "\n")
    wrong = sum(outcome["wrong"].values())
    fine = [verdict("requests that failed", wrong, 0), verdict("server errors", outcome["server_errors"], 0),
            verdict("submitted, said to be kept, and not there", outcome["lost"], 0)]  # fmt: skip
    if asked.adds:
        fine.append(verdict("seconds of half the answers, at most", outcome["median_s"], MEDIAN_S))
        fine.append(verdict("seconds of 95 % of the answers, at most", outcome["p95_s"], P95_S))
    return int(not all(fine))


if __name__ == "__main__":
    sys.exit(main())
