"""Kill processes of a running Drafthouse at random times. Every comparison must still end complete.

    ./drafthouse bench chaos [--kills 100] [--gap 0.2-8] [--workers 1] [--crowd 0] [--postgres] [--seed 0] [--json FILE]

It uses its own data folder and a small random pair, and keeps two comparisons running. `--gap 3-5` kills every 3 to 5
s, even while something is still starting; `--crowd 4` keeps the cores busy with four other programs; `--postgres` uses
PostgreSQL and kills it too. The exit code is 1 if a comparison failed, or if a sample was lost or stored twice
(docs/decisions/0028-which-attempts-count.md).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.kit.postgres import Server
from tests.kit.processes import until
from tests.kit.up import Up, add_pair
from worker.supervisor import port as ports

VICTIMS = {
    "engine": "worker.engine",
    "worker": "-m worker --queue cpu",
    "light worker": "-m worker --queue light",
    "valkey": "valkey-server",
    "web": "supervisor.web",
    "scheduler": "worker.scheduler",
    "supervisor": "worker.supervisor --data",
}
POSTGRES = "postgres"
PROMPTS, STRATEGIES = 12, 3
UNDER_WAY = 2
UNTIL_OVER = 1800.0  # s
BUSY = [sys.executable, "-c", "while True: pass"]


class Storm:
    def __init__(self, folder: Path, seed: int, server: Server | None, workers: int) -> None:
        self.dice = random.Random(seed)
        self.workers = workers
        self.data = folder / "data"
        self.server = server
        self.victims = [*VICTIMS, *[POSTGRES] * bool(server)]
        with ports.listen("127.0.0.1", 0) as free:
            self.port = free.getsockname()[1]
        self.up = self._start().wait()
        add_pair(self.up, folder)
        self.token = self.up.token()
        self.body = self._body()
        self.made: list[dict[str, Any]] = []
        self.killed: Counter[str] = Counter()

    def rage(self, kills: int, gap: tuple[float, float]) -> None:
        while sum(self.killed.values()) < kills:
            self._keep_busy()
            time.sleep(self.dice.uniform(*gap))
            self._restart_what_nobody_else_does()
            self._kill(self.dice.choice(self.victims))
        self._restart_what_nobody_else_does()

    def outcome(self) -> dict[str, Any]:
        self._settle()
        rows = [self._row(made) for made in self.made]
        took = self.up.interrupt()
        return {
            "kills": dict(self.killed),
            "comparisons": len(rows),
            "ended": dict(Counter(row["state"] for row in rows)),
            "reasons": sorted({row["reason"] for row in rows if row["state"] != "succeeded"}),
            "most_attempts": max(row["attempt"] for row in rows),
            "samples_due": sum(row["due"] for row in rows),
            "samples_there": sum(row["different"] for row in rows),
            "lost": sum(row["due"] - row["different"] for row in rows),
            "counted_twice": sum(row["there"] - row["different"] for row in rows),
            "not_identical": sum(row["not_identical"] for row in rows),
            "orphans": len(self.up.family()),
            "stop_s": round(took, 2),
        }

    def _start(self) -> Up:
        where = {"DATABASE_URL": self.server.url} if self.server else {}
        up = Up(self.data, "--port", str(self.port), "--workers", str(self.workers), **where)
        up.address = f"http://127.0.0.1:{self.port}"
        return up

    def _body(self) -> dict[str, Any]:
        (pair,) = (p for p in self.up.call("pairs/", self.token)["results"] if p["name"] == "small")
        (words,) = (d for d in self.up.call("datasets/", self.token)["results"] if d["name"] == "words")
        return {
            "pair": pair["id"],
            "dataset": words["id"],
            "limit": PROMPTS,
            "strategies": [{"strategy": "static", "params": {"lookahead": 3}}, {"strategy": "threshold"}],
            "sampling": {"max_new_tokens": 96, "ignore_eos": True},
        }

    def _kill(self, name: str) -> None:
        if name == POSTGRES and self.server is not None:
            self.server.crash()
        elif pids := [pid for pid, command in self.up.family().items() if VICTIMS[name] in command]:
            os.kill(self.dice.choice(pids), signal.SIGKILL)
        else:
            return  # it is starting at this moment
        self.killed[name] += 1

    def _restart_what_nobody_else_does(self) -> None:
        """Restart the processes that the system's service manager would."""
        if self.server is not None and not self.server.is_running:
            self.server.start()
        if self.up.process.poll() is not None:
            until(lambda: not self.up.family(), "the supervisor's family to end")
            self.up = self._start()

    def _settle(self) -> None:
        def is_over() -> bool:
            time.sleep(0.5)  # polling must not slow the service down
            self._restart_what_nobody_else_does()
            try:
                return not self._open()
            except OSError:
                return False

        until(is_over, "every job to end", UNTIL_OVER)

    def _keep_busy(self) -> None:
        try:
            while len(self._open()) < UNDER_WAY:
                self.made.append(self.up.call("comparisons/", self.token, self.body, within=5.0))
        except OSError:
            pass  # the web server is starting again

    def _open(self) -> list[dict[str, Any]]:
        jobs = self.up.call("jobs/?kind=comparison&limit=500", self.token, within=5.0)["results"]
        return [job for job in jobs if job["state"] in ("queued", "running")]

    def _row(self, made: dict[str, Any]) -> dict[str, Any]:
        job = self.up.patiently(f"jobs/{made['job']['id']}/", self.token)
        every = self.up.patiently(f"samples/?comparison={made['id']}&limit=500", self.token)["results"]
        found = [sample for sample in every if sample["finished"]]
        return {
            "state": job["state"],
            "reason": job["reason"],
            "attempt": job["attempt"],
            "due": PROMPTS * STRATEGIES,
            "there": len(found),
            "different": len({(s["run"], s["prompt"], s["repeat"]) for s in found}),
            "not_identical": sum((s["numbers"].get("audit") or {}).get("outcome") != "identical" for s in found),
        }


def seconds(told: str) -> tuple[float, float]:
    least, _, most = told.partition("-")
    return float(least), float(most or least)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./drafthouse bench chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--gap", type=seconds, default=(0.2, 8.0), help="seconds between two kills, as in 3-5")
    parser.add_argument("--workers", type=int, default=1, help="workers of the queue cpu")
    parser.add_argument("--crowd", type=int, default=0, help="how many other programs keep the cores busy meanwhile")
    parser.add_argument("--postgres", action="store_true", help="with PostgreSQL, which is killed too")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    return parser.parse_args()


def play(asked: argparse.Namespace, using: ExitStack) -> dict[str, Any]:
    folder = Path(using.enter_context(tempfile.TemporaryDirectory(prefix="dh-chaos-")))
    server = Server.made() if asked.postgres else None
    if server is not None:
        using.callback(server.remove)
        server.start()
    storm = Storm(folder, asked.seed, server, asked.workers)
    using.callback(lambda: storm.up.process.poll() is None and storm.up.interrupt())
    for _ in range(asked.crowd):
        using.callback(subprocess.Popen(BUSY).kill)
    storm.rage(asked.kills, asked.gap)
    return storm.outcome()


def main() -> int:
    asked = read_arguments()
    with ExitStack() as using:
        outcome = play(asked, using)
    for name, value in outcome.items():
        print(f"{name:16} {value}")
    if asked.json:
        asked.json.write_text(json.dumps(outcome, indent=1) + "\n")
    is_whole = outcome["ended"] == {"succeeded": outcome["comparisons"]}
    return int(not is_whole or any(outcome[name] for name in ("lost", "counted_twice", "not_identical", "orphans")))


if __name__ == "__main__":
    sys.exit(main())
