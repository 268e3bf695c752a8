"""Measure what jobs cost the parts that all workers share: the database, the broker, the web, the store.

    ./drafthouse bench costs [--json FILE]

Runs in its own data folder and PostgreSQL, with one worker and a small random pair. It counts transactions, log bytes,
commands and processor time, which hold on a busy machine, and takes differences: idle, then a job of few samples, one
of more, and one of longer samples. Processor time depends on the machine. `bench live` measures what watchers cost.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from benchmarks._serving import load
from tests.launcher.up import Up, add_pair, until
from tests.webapp.postgres import Server

IDLE_S = 20.0
FEW, MORE, SHORT, LONG = 2, 20, 16, 96  # prompts; new tokens per sample
STRATEGIES = 2  # the baseline and the one asked for
EVENTS = """SELECT coalesce(sum(last_seq), 0) FROM comparisons_sample s JOIN comparisons_run r ON r.id = s.run_id
    WHERE r.comparison_id = %s"""

STORED = """SELECT relname, pg_total_relation_size(oid) FROM pg_class
    WHERE relname IN ('comparisons_tracechunk', 'comparisons_sample', 'jobs_jobevent', 'jobs_reading', 'jobs_job')"""


@dataclass(frozen=True)
class Spent:
    """Counters at one time, or their increase between two."""

    transactions: float
    log_bytes: float  # write-ahead log, which a replica would receive
    database_s: float  # processor time of all server processes
    broker_commands: float
    broker_bytes: float
    web_s: float
    scheduler_s: float
    wall_s: float

    def __sub__(self, other: Spent) -> Spent:
        return Spent(*(getattr(self, one.name) - getattr(other, one.name) for one in fields(Spent)))

    def __mul__(self, factor: float) -> Spent:
        return Spent(*(getattr(self, one.name) * factor for one in fields(Spent)))

    def told(self) -> dict[str, float]:
        return {name: float(f"{value:.3g}") for name, value in asdict(self).items() if name != "wall_s"}


class Lab:
    def __init__(self, folder: Path, server: Server) -> None:
        import psycopg  # imported late: --help must not need them
        import redis

        self.server = server
        self.up = Up(folder / "data", DATABASE_URL=server.url).wait()
        add_pair(self.up, folder)
        self.token = self.up.token()
        self.database = psycopg.connect(f"host={server.home} user=drafthouse dbname=postgres", autocommit=True)
        self.asked = 0
        self.broker = redis.Redis(unix_socket_path=str(folder / "data" / "valkey" / "valkey.sock"))

    def now(self) -> Spent:
        self._ask("SELECT pg_stat_force_next_flush()")
        row = self._ask(
            "SELECT xact_commit + xact_rollback, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') "
            "FROM pg_stat_database WHERE datname = current_database()"
        )
        info: Any = self.broker.info()
        talk = info["total_net_input_bytes"] + info["total_net_output_bytes"]
        processes = (seconds_of(pid) for pid in self._servers())
        scheduler, web = (seconds_of(self.up.pid_of(word)) for word in ("worker.scheduler", "supervisor.web"))
        commands = info["total_commands_processed"]
        return Spent(float(row[0]) - self.asked, float(row[1]), sum(processes), commands, talk, web,
                     scheduler, time.monotonic())  # fmt: skip

    def compared(self, prompts: int, tokens: int) -> tuple[Spent, int]:
        """Return the cost of a comparison from submission to end, and the number of events in its traces."""
        (pair,) = (p for p in self.up.call("pairs/", self.token)["results"] if p["name"] == "small")
        (words,) = (d for d in self.up.call("datasets/", self.token)["results"] if d["name"] == "words")
        body = {"pair": pair["id"], "dataset": words["id"], "limit": prompts,
                "strategies": [{"strategy": "static", "params": {"lookahead": 3}}],
                "sampling": {"max_new_tokens": tokens, "ignore_eos": True}}  # fmt: skip
        before = self.now()
        made = self.up.call("comparisons/", self.token, body)
        until(lambda: self._state(made["job"]["id"]) not in ("queued", "running"), "the end of the job")
        assert self._state(made["job"]["id"]) == "succeeded"
        spent = self.now() - before
        return spent, int(self._ask(EVENTS, made["id"])[0])

    def _state(self, job: str) -> str:
        """State of a job, read from the database: a request to the web would be counted."""
        return str(self._ask("SELECT state FROM jobs_job WHERE id = %s", job)[0])

    def _ask(self, question: str, *about: str) -> tuple[Any, ...]:
        """Run a query of our own, which is not counted."""
        self.asked += 1
        row = self.database.execute(question, about).fetchone()
        assert row is not None
        return row

    def _servers(self) -> list[int]:
        """PostgreSQL's processes, new ones included, except the one that serves us."""
        first = int((self.server.home / "data" / "postmaster.pid").read_text().split()[0])
        children = map(int, Path(f"/proc/{first}/task/{first}/children").read_text().split())
        return [first, *(child for child in children if child != self.database.info.backend_pid)]


def seconds_of(pid: int | None) -> float:
    """Processor seconds of a process and of its ended children."""
    try:
        cells = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return 0.0  # it has just ended, and its parent counts it
    return sum(map(int, cells[11:15])) / os.sysconf("SC_CLK_TCK")


def measured(folder: Path, server: Server) -> dict[str, Any]:
    lab = Lab(folder, server)
    try:
        lab.compared(FEW, SHORT)  # the models stay loaded from here on
        start = lab.now()
        time.sleep(IDLE_S)
        idle = (lab.now() - start) * (1 / IDLE_S)
        few, _ = lab.compared(FEW, SHORT)
        more, short_events = lab.compared(MORE, SHORT)
        long, events = lab.compared(MORE, LONG)
        rows = lab.database.execute(STORED).fetchall()
    finally:
        lab.up.interrupt()

    def alone(one: Spent) -> Spent:
        """Subtract what an idle service costs."""
        return one - idle * one.wall_s

    sample = (alone(more) - alone(few)) * (1 / (STRATEGIES * (MORE - FEW)))
    job = alone(few) - sample * (STRATEGIES * FEW)
    return {
        "machine": load(),
        "idle, a second": idle.told(),
        "a job, without its samples": job.told(),
        f"a sample of {SHORT} tokens": {**sample.told(), "events": short_events / (STRATEGIES * MORE)},
        f"a sample of {LONG} tokens": {
            **((alone(long) - job) * (1 / (STRATEGIES * MORE))).told(),
            "events": events / (STRATEGIES * MORE),
        },
        "stored bytes": {name: int(size) for name, size in rows},
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench costs", description=__doc__)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    server = Server.made()
    server.start()
    with tempfile.TemporaryDirectory(prefix="dh-costs-") as folder:
        try:
            found = measured(Path(folder), server)
        finally:
            server.remove()
    print(json.dumps(found, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
