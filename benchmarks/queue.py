"""The queue's bars: workers that race for 3,000 jobs, and how long a running comparison takes to stop.

    ./drafthouse bench queue [--jobs 3000] [--racers 4] [--cancels 10] [--json FILE]

Uses its own data folder, on SQLite; with DATABASE_URL set, the race runs in that database, which should be empty.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.kit.up import Up, add_pair, until

CANCEL_S = 1.0


def race(job_count: int, racer_count: int) -> dict[str, Any]:
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    from tests.worker import racing
    from webapp.accounts import services as accounts
    from webapp.accounts.actor import of_user
    from webapp.accounts.models import User

    call_command("migrate", verbosity=0)
    alice = User.objects.create(username="alice", password="!")
    accounts.create_team(name="lab", by=alice)
    start = time.perf_counter_ns()
    claimed = racing.race(of_user(alice), job_count, racer_count)
    took = (time.perf_counter_ns() - start) / 1e9
    return {"database": connection.vendor, "racers": racer_count, **racing.verdict(claimed), "seconds": round(took, 1)}


def cancels(folder: Path, count: int) -> dict[str, float]:
    """Measure from the request to the state `cancelled`, in the middle of decoding."""
    up = Up(folder / "data").wait()
    try:
        add_pair(up, folder)
        token = up.token()
        (pair,) = (p for p in up.call("pairs/", token)["results"] if p["name"] == "small")
        (words,) = (d for d in up.call("datasets/", token)["results"] if d["name"] == "words")
        strategies = [{"strategy": "static", "params": {"lookahead": k}} for k in range(1, 11)]
        body = {"pair": pair["id"], "dataset": words["id"], "strategies": strategies, "repeats": 20,
                "sampling": {"max_new_tokens": 96, "ignore_eos": True}}  # fmt: skip
        return _spread([_cancel(up, token, body) for _ in range(count)])
    finally:
        up.interrupt()


def _cancel(up: Up, token: str, body: dict[str, Any]) -> float:
    job = f"jobs/{up.call('comparisons/', token, body)['job']['id']}/"
    until(lambda: up.call(job, token)["done_count"] > 3, "a few samples")
    start = time.perf_counter_ns()
    up.call(f"{job}cancel/", token, {})
    until(lambda: up.call(job, token)["state"] == "cancelled", "the end of the job")
    return (time.perf_counter_ns() - start) / 1e9


def _spread(seconds: list[float]) -> dict[str, float]:
    return {"median_s": round(statistics.median(seconds), 2), "worst_s": round(max(seconds), 2), "count": len(seconds)}


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench queue", description=__doc__)
    parser.add_argument("--jobs", type=int, default=3000)
    parser.add_argument("--racers", type=int, default=4)
    parser.add_argument("--cancels", type=int, default=10)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dh-queue-") as folder:
        os.environ["DRAFTHOUSE_DATA"] = folder
        os.environ["DJANGO_SETTINGS_MODULE"] = "webapp.config.settings"
        os.environ["REDIS_URL"] = ""
        outcome = {"race": race(asked.jobs, asked.racers), "cancel": cancels(Path(folder), asked.cancels)}
    print(json.dumps(outcome, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(outcome, indent=1) + "\n")
    wrong = outcome["race"]["claimed_twice"] or outcome["race"]["claimed"] != asked.jobs
    return int(bool(wrong or outcome["cancel"]["worst_s"] > CANCEL_S))


if __name__ == "__main__":
    sys.exit(main())
