"""Kill processes of a running Drafthouse at random moments, and count what that costs: nothing, if all is well.

    ./drafthouse bench chaos [--kills 100] [--seed 0] [--json FILE]

A data folder and a small random pair of its own. Meanwhile two comparisons are always under way. A job whose own worker
or engine is killed three times in a row before it finishes a sample fails, by the queue's rule
(docs/decisions/0028-which-attempts-count.md); when the storm is over such jobs are tried again, and must end with what
they had and all the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.launcher.up import Up, add_pair, until

VICTIMS = {
    "engine": "worker.engine",
    "worker": "-m worker --queue",
    "valkey": "valkey-server",
    "web": "supervisor.web",
    "scheduler": "worker.scheduler",
    "supervisor": "worker.supervisor --data",
}
PROMPTS, STRATEGIES = 12, 3
UNDER_WAY = 2
STUCK_S = 20.0
UNTIL_OVER = 1800.0  # s
PAUSE_S = (0.2, 8.0)  # between kills; an engine takes some five seconds to load torch before it decodes anything


class Storm:
    def __init__(self, folder: Path, seed: int) -> None:
        self.dice = random.Random(seed)
        self.data = folder / "data"
        self.up = Up(self.data).wait()
        add_pair(self.up, folder)
        self.token = self.up.token()
        self.body = self._body()
        self.made: list[dict[str, Any]] = []
        self.killed: Counter[str] = Counter()
        self.worker_kills: list[datetime] = []

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

    def rage(self, kills: int) -> None:
        while sum(self.killed.values()) < kills:
            self._keep_busy()
            time.sleep(self.dice.uniform(*PAUSE_S))
            name = self.dice.choice(list(VICTIMS))
            if pid := self.up.pid_of(VICTIMS[name]):
                os.kill(pid, signal.SIGKILL)
                self.killed[name] += 1
                self.worker_kills += [datetime.now(UTC)] if name == "worker" else []
            if name == "supervisor":
                self.up.process.wait()
                until(lambda: not self.up.family(), "the supervisor's family to end")
                self.up = Up(self.data).wait()

    def outcome(self) -> dict[str, Any]:
        until(lambda: not self._open(), "every job to end", UNTIL_OVER)
        rows = [self._row(made) for made in self.made]
        again = self._tried_again([made for made, row in zip(self.made, rows, strict=True) if row["state"] == "failed"])
        held = [seconds for made in self.made for seconds in self._held_after_kills(made)]
        took = self.up.interrupt()
        return {
            "kills": dict(self.killed),
            "comparisons": len(rows),
            "ended": dict(Counter(row["state"] for row in rows)),
            "reasons": sorted({row["reason"] for row in rows if row["state"] != "succeeded"}),
            "samples_due": sum(row["due"] for row in rows if row["state"] == "succeeded"),
            "samples_there": sum(len(row["there"]) for row in rows if row["state"] == "succeeded"),
            "samples_kept_by_failed": sum(len(row["there"]) for row in rows if row["state"] == "failed"),
            "lost": sum(max(0, row["done"] - len(row["there"])) for row in rows),
            "counted_twice": sum(len(row["there"]) - row["different"] for row in rows),
            "not_identical": sum(row["not_identical"] for row in rows if row["state"] == "succeeded"),
            **again,
            "jobs_of_killed_workers": len(held),
            "longest_held_s": round(max(held, default=0.0), 1),
            "stuck": sum(seconds > STUCK_S for seconds in held),
            "orphans": len(self.up.family()),
            "stop_s": round(took, 2),
        }

    def _tried_again(self, failed: list[dict[str, Any]]) -> dict[str, int]:
        """What they had finished stays, and the rest is decoded."""
        before = [self._row(made)["there"] for made in failed]
        for made in failed:
            self.up.call(f"jobs/{made['job']['id']}/retry/", self.token, {})
        until(lambda: not self._open(), "every job that is tried again to end", UNTIL_OVER)
        after = [self._row(made) for made in failed]
        return {
            "tried_again": len(after),
            "succeeded_then": sum(row["state"] == "succeeded" for row in after),
            "lost_then": sum(len(had - row["there"]) for had, row in zip(before, after, strict=True)),
            "missing_then": sum(row["due"] - row["different"] for row in after),
        }

    def _held_after_kills(self, made: dict[str, Any]) -> list[float]:
        """For every time its worker was killed: how long the job was still said to be running on it."""
        events = self.up.patiently(f"jobs/{made['job']['id']}/events/", self.token)["events"]
        told = [(datetime.fromisoformat(event["at"]), event["state"]) for event in events]
        held = []
        for kill in self.worker_kills:
            before = [state for at, state in told if at <= kill]
            after = [at for at, state in told if at > kill and state != "running"]
            if before and before[-1] == "running" and after:
                held.append((after[0] - kill).total_seconds())
        return held

    def _keep_busy(self) -> None:
        try:
            while len(self._open()) < UNDER_WAY:
                self.made.append(self.up.call("comparisons/", self.token, self.body))
        except OSError:
            pass  # the web server is being started again

    def _jobs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.up.patiently("jobs/?kind=comparison&limit=500", self.token)["results"]
        return found

    def _open(self) -> list[dict[str, Any]]:
        return [job for job in self._jobs() if job["state"] in ("queued", "running")]

    def _row(self, made: dict[str, Any]) -> dict[str, Any]:
        job = self.up.patiently(f"jobs/{made['job']['id']}/", self.token)
        every = self.up.patiently(f"samples/?comparison={made['id']}&limit=500", self.token)["results"]
        found = [sample for sample in every if sample["finished"]]  # one that was being decoded is begun anew
        return {
            "state": job["state"],
            "reason": job["reason"],
            "due": PROMPTS * STRATEGIES,
            "done": job["done_count"],  # written together with each sample that finished
            "there": {(s["id"], s["finished"]) for s in found},
            "different": len({(s["run"], s["prompt"], s["repeat"]) for s in found}),
            "not_identical": sum((s["numbers"].get("audit") or {}).get("outcome") != "identical" for s in found),
        }


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dh-chaos-") as folder:
        storm = Storm(Path(folder), asked.seed)
        try:
            storm.rage(asked.kills)
            outcome = storm.outcome()
        finally:
            if storm.up.process.poll() is None:
                storm.up.interrupt()
    print(json.dumps(outcome, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(outcome, indent=1) + "\n")
    lost = outcome["lost"] + outcome["samples_due"] - outcome["samples_there"]
    lost += outcome["lost_then"] + outcome["missing_then"]
    return int(bool(lost or outcome["counted_twice"] or outcome["stuck"] or outcome["orphans"]))


if __name__ == "__main__":
    sys.exit(main())
