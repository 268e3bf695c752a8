"""Measure starts: the service from nothing and again, its idle memory, and a job with loaded models.

    ./drafthouse bench starting [--jobs 10] [--json FILE]

Uses its own data folder. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.launcher.up import Up, add_pair, until

BARS = {"first_start_s": 5.0, "idle_mib": 400.0, "begin_median_s": 0.3}
BODY = {
    "limit": 1,
    "strategies": [{"strategy": "static", "params": {"lookahead": 3}}],
    "sampling": {"max_new_tokens": 16, "ignore_eos": True},
}


def started(data: Path) -> tuple[Up, float]:
    """Start the service. Returns it, and the seconds until its pages answer."""
    start = time.perf_counter_ns()
    up = Up(data).wait()
    return up, (time.perf_counter_ns() - start) / 1e9


def idle_mib(up: Up) -> float:
    """Proportional set size of all its processes."""
    total = 0
    for pid in up.family():
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def beginnings(up: Up, folder: Path, count: int) -> list[float]:
    """Seconds from submitting a comparison to decoding its first sample. The first of them loads the models."""
    add_pair(up, folder)
    token = up.token()
    (pair,) = (p for p in up.call("pairs/", token)["results"] if p["name"] == "small")
    (words,) = (d for d in up.call("datasets/", token)["results"] if d["name"] == "words")
    body = {**BODY, "pair": pair["id"], "dataset": words["id"]}
    return [_beginning(up, token, body) for _ in range(count + 1)][1:]


def _beginning(up: Up, token: str, body: dict[str, Any]) -> float:
    submitted = datetime.now(UTC)
    made = up.call("comparisons/", token, body)
    until(lambda: up.call(f"jobs/{made['job']['id']}/", token)["state"] == "succeeded", "the end of the job")
    samples = up.call(f"samples/?comparison={made['id']}", token)["results"]
    return (min(datetime.fromisoformat(one["created"]) for one in samples) - submitted).total_seconds()


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench starting", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dh-starting-") as folder:
        first, first_s = started(Path(folder) / "data")
        stop_s = first.interrupt()
        up, second_s = started(Path(folder) / "data")
        try:
            until(lambda: up.call("workers/", up.token())["results"], "a worker")
            idle = idle_mib(up)
            begun = beginnings(up, Path(folder), asked.jobs)
        finally:
            up.interrupt()
    outcome = {
        "first_start_s": round(first_s, 1),
        "second_start_s": round(second_s, 1),
        "stop_s": round(stop_s, 1),
        "idle_mib": round(idle),
        "begin_median_s": round(statistics.median(begun), 2),
        "begin_worst_s": round(max(begun), 2),
        "bars": BARS,
    }
    print(json.dumps(outcome, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(outcome, indent=1) + "\n")
    return int(any(outcome[name] > bar for name, bar in BARS.items()))


if __name__ == "__main__":
    sys.exit(main())
