"""Measure processor and server time of every list, page and answer that can be read, with a busy year in the database.

    ./drafthouse bench pages [--comparisons 10000] [--times 20] [--postgres] [--data FOLDER] [--json FILE]

10,000 comparisons are 20,000 runs (twice what the bar asks) and 1,100,000 rounds, with 200 models in a team that is one
of 50; the opened comparison has 100 prompts and 8 strategies. A member of the team requests one address after another,
in turns, and takes compressed answers, as a browser does. Processor time is that of the web process and PostgreSQL
until the whole answer is read; other programs disturb it less than the times, so it has the bar, which holds for all
but downloads. Times come from the request log, where a download ends when its sending begins and which has no health
checks. Queries are counted in a separate visit. `--data` keeps the filled folder, and the next time nothing is filled:
its dates stay those of that day, and what visits leave behind (sessions) adds up.
"""

from __future__ import annotations

import argparse
import json
import logging
import statistics
import sys
import time
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks._serving import LINE, Web, load, place, serving, verdict

CPU_BAR_MS = 80.0
BAR_MS = 300.0
BAR_MIB = 250.0
MOST_QUERIES = 28  # as in tests/laws/service/test_query_counts.py
WIDE = {  # lists, searched as people search
    "/comparisons/?q=70&ordering=name",
    "/comparisons/?state=succeeded&page=100",
    "/jobs/?state=succeeded&page=100",
    "/models/?q=12",
    "/runs/?strategy=static&ordering=-speedup&lookahead_from=3",
    "/runs/?page=200",
    "/api/v1/comparisons/?strategy=static&state=succeeded&ordering=name",
    "/api/v1/comparisons/?name=70&limit=500",
    "/api/v1/runs/?limit=500&offset=15000",
    "/api/v1/runs/?strategy=static&ordering=-speedup&speedup_from=1.2",
    "/api/v1/samples/?limit=50&offset=30000",
    "/api/v1/audit/?offset=9000",
}


def addresses(things: dict[str, Any], usual: Any) -> list[str]:
    """Addresses of everything that takes GET; comparisons twice, the large one and a usual one."""
    from tests.kit.addresses import address, routes

    readable = [pattern for method, pattern in routes() if method == "GET"]
    found = {address(pattern, things) for pattern in readable}
    found |= {address(pattern, things | usual) for pattern in readable if str(pattern.name).split("-")[0] in usual}
    return sorted(found | WIDE)


@dataclass(slots=True)
class Visits:
    """Answers of one address: the last one's status and size, and the processor time of each. A redirect is an answer
    of its own."""

    status: int = 0
    sent_kb: float = 0.0
    is_download: bool = False
    cpu_ms: list[float] = field(default_factory=list)

    def read(self, answer: Any) -> None:
        self.sent_kb = round(len(answer.read()) / 1000, 1)
        self.status = answer.status
        self.is_download = "attachment" in answer.headers.get("Content-Disposition", "")


class _Stay(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def visit(web: Web, base: str, addresses: list[str], session: str, times: int) -> tuple[dict[str, Visits], float]:
    """Visit each address. Each request carries its own id, to find it in the log. Returns also the most memory of its
    own that the web process had, in MiB, without what it maps of the database's file."""
    found: dict[str, Visits] = defaultdict(Visits)
    most_mib, opener = 0.0, urllib.request.build_opener(_Stay)
    for turn in range(times + 1):
        for number, address in enumerate(addresses):
            headers = {"Cookie": f"dh_session={session}", "X-Request-ID": f"visit-{turn}-{number}",
                       "Accept-Encoding": "gzip"}  # fmt: skip
            before = web.cpu_s()
            try:
                with opener.open(urllib.request.Request(base + address, headers=headers)) as answer:
                    found[address].read(answer)
            except urllib.error.HTTPError as refusal:
                found[address].read(refusal)
            took = sum(now - before.get(pid, 0) for pid, now in web.cpu_s().items())
            found[address].cpu_ms.append(took * 1000)
            most_mib = max(most_mib, web.memory_mib("RssAnon"))
    return found, most_mib


def server_times(log: str, addresses: list[str]) -> dict[str, list[int]]:
    """Milliseconds from the log without the first turn, which loads everything."""
    found = defaultdict(list)
    for line in LINE.finditer(log):
        name, _, rest = line["id"].partition("-")
        if name == "visit" and not rest.startswith("0-"):
            found[addresses[int(rest.partition("-")[2])]].append(int(line["ms"]))
    return found


def query_counts(addresses: list[str], user: Any) -> dict[str, int]:
    from django.conf import settings
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    settings.ALLOWED_HOSTS.append("testserver")
    logging.disable()
    client = Client(raise_request_exception=False)
    client.force_login(user)
    counts = {}
    for address in addresses:
        with CaptureQueriesContext(connection) as asked:
            b"".join(client.get(address))  # reads streamed answers to the end
        counts[address] = len(asked)
    return counts


def measure(folder: Path, comparison_count: int, times: int) -> dict[str, Any]:
    from django.db import connection

    from benchmarks._kept import filled
    from benchmarks._sessions import session_of

    start = time.monotonic()
    things = filled(folder, comparison_count)
    print(f"filled in {time.monotonic() - start:.0f} s")
    large, reader = things["comparison"], things["users"]
    one = large.team.comparisons.exclude(pk=large.pk).earliest("created")
    usual = dict.fromkeys(("comparisons", "comparison", "shares"), one)
    todo = addresses(things, usual)
    connection.close()
    with serving(folder) as up:
        visited, memory_mib = visit(Web(up), up.address, todo, session_of(reader), times)
        log = up.said
    seen, queries = server_times(log, todo), query_counts(todo, reader)
    named = {str(large.pk): "LARGE", str(one.pk): "USUAL"}
    rows = [
        {"address": _short(address, named), "queries": queries[address], "sent_kb": found.sent_kb,
         "is_download": found.is_download, "cpu_ms": round(statistics.median(found.cpu_ms[1:]), 1),
         "least_cpu_ms": round(min(found.cpu_ms[1:]), 1), **_times(seen[address])}
        for address, found in visited.items() if found.status == 200
    ]  # fmt: skip
    rows.sort(key=lambda row: -row["cpu_ms"])
    return {"database": connection.vendor, "comparisons": comparison_count, "times": times, "machine": load(),
            "memory_mib": round(memory_mib), "addresses": rows}  # fmt: skip


def _times(seen_ms: list[int]) -> dict[str, float]:
    """Times of an address from the log; 0 where the log leaves it out."""
    ordered = sorted(seen_ms) or [0]
    return {"median_ms": statistics.median(ordered), "p95_ms": ordered[int(len(ordered) * 0.95) - 1]}


def _short(address: str, named: dict[str, str]) -> str:
    return "/".join(named.get(part, "…" if len(part) == 36 and part.count("-") == 4 else part)
                    for part in address.split("/"))  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench pages", description=__doc__)
    parser.add_argument("--comparisons", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--postgres", action="store_true", help="on a PostgreSQL server of its own instead of SQLite")
    parser.add_argument("--data", type=Path, metavar="FOLDER", help="fill this folder, or reuse it if it is filled")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with place(postgres=asked.postgres, kept=asked.data) as folder:
        outcome = measure(folder, asked.comparisons, asked.times)
    print("processor ms   least  p95 ms  median  kB sent  queries")
    for row in outcome["addresses"]:
        line = "{cpu_ms:12} {least_cpu_ms:7} {p95_ms:7} {median_ms:7.0f} {sent_kb:8} {queries:8}  {address}"
        print(line.format(**row), "(download)" if row["is_download"] else "")
    if asked.json:
        asked.json.write_text(json.dumps(outcome, indent=1) + "\n")
    print(f"{outcome['database']}, {outcome['machine']}")
    shown = [row for row in outcome["addresses"] if not row["is_download"]]
    bars = (("cpu_ms", "processor ms", CPU_BAR_MS), ("p95_ms", "p95 ms", BAR_MS), ("queries", "queries", MOST_QUERIES))
    met = []
    for name, title, bar in bars:
        worst = max(shown, key=lambda row: row[name])
        met.append(verdict(f"most {title} of {len(shown)} addresses: {worst['address']}", worst[name], bar))
    met.append(verdict("most memory of the web process, MiB", outcome["memory_mib"], BAR_MIB))
    return int(not all(met))


if __name__ == "__main__":
    sys.exit(main())
