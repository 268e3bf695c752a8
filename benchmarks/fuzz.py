"""Fuzz the service: schemathesis with all its checks, on single calls and sequences, for a set time.

    ./drafthouse bench fuzz [--minutes 20] [--seed 0] [--report FILE]

Uses its own web server with one object of every kind. Needs what `./drafthouse test` installs.
"""

from __future__ import annotations

import argparse
import os
import re
import socket
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks._serving import LINE, load, place, verdict

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent
DEPTHS = "FUZZ_DEPTHS"  # environment variable: file for each answer's depth in its sequence
OPERATION = re.compile(r"(GET|POST|PUT|PATCH|DELETE) /api/v1/")
IN_SEQUENCES = 0.6  # share of the time
STORIES = (  # operations per story: a single story of all would begin everything and finish nothing
    "uploads_(create|chunks_update|complete_create)|models_create|pairs_create|datasets_create|comparisons_create"
    "|comparisons_(clone|shares)_create|comparisons_(report|rounds.csv|what_if)_retrieve",
    "(models|pairs|datasets|classifiers|uploads)_(?!list).*",
    "(comparisons|jobs|runs|samples|shares|studies)_.*|classifiers_train_create",
    "(users|teams|members|invitations|tokens|audit|me|queues|workers|tickets)_.*",
)


@contextmanager
def strangers(folder: Path) -> Iterator[str]:
    """Serve the pages and the API alone, without a broker."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = [sys.executable, "-m", "webapp.config.server", "--app", "benchmarks._strangers:application",
                   "--fd", str(listener.fileno())]  # fmt: skip
        with (folder / "web.log").open("wb") as log:
            web = subprocess.Popen(command, cwd=ROOT, stderr=log, pass_fds=[listener.fileno()])
        try:
            urllib.request.urlopen(f"{address}/healthz", timeout=60)  # waits until the server reads the open socket
            yield address
        finally:
            web.terminate()
            web.wait()


def fuzz(address: str, minutes: float, seed: int, report: Path) -> int:
    """Cover every operation and make random calls, then run sequences along the links, one story after another."""
    alone = minutes * (1 - IN_SEQUENCES)
    found = run(address, alone, seed, report, "--phases", "examples,coverage,fuzzing")
    for story in STORIES:
        share = minutes * IN_SEQUENCES / len(STORIES)
        found |= run(
            address, share, seed, report, "--phases", "stateful", "--include-operation-id-regex", f"^({story})$"
        )
    return found


def run(address: str, minutes: float, seed: int, report: Path, *asked: str) -> int:
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis.toml"),
        "run", str(ROOT / "docs" / "api" / "openapi.yaml"), "--url", address,
        "--continue-on-failure", "--max-time", str(max(1, round(minutes * 60))),
        "--seed", str(seed), "--no-color", *asked,
    ]  # fmt: skip
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "benchmarks._fuzzing", "PYTHONPATH": str(ROOT),
                   DEPTHS: str(report.with_suffix(".depths"))}  # fmt: skip
    with report.open("a") as out:
        return subprocess.run(
            command, cwd=report.parent, env=environment, stdout=out, stderr=out, check=False
        ).returncode


def tell(log: str, depths: list[int]) -> None:
    """Print what was requested, and how long the sequences became."""
    answers = [(match["what"], match["status"]) for match in LINE.finditer(log)]
    taken = {what for what, status in answers if OPERATION.match(what) and status < "300"}
    at_depth = Counter(depths)
    print(f"{len(answers)} requests, {load()}; {len(taken)} operations did what was asked at least once")
    print(f"{at_depth[1]} sequences begun; " + ", ".join(
        f"{sum(count for depth, count in at_depth.items() if depth >= least)} answers after {least - 1} or more others"
        for least in (2, 3, 5)
    ) + f"; the longest chain has {max(depths, default=0)}")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, help="write the findings to this file instead of printing them")
    asked = parser.parse_args()
    with place() as folder:
        from tests.kit.everything import one_of_everything
        from tests.kit.teams import a_world

        one_of_everything(a_world())
        report = asked.report.resolve() if asked.report else folder / "report.txt"
        depths = report.with_suffix(".depths")
        for file in (report, depths):
            file.write_text("")
        with strangers(folder) as address:
            found = fuzz(address, asked.minutes, asked.seed, report)
        log = (folder / "web.log").read_text()
        if not asked.report:
            print(report.read_text(errors="replace"))
        tell(log, [int(line) for line in depths.read_text().split()])
    errors = sum(match["status"] >= "500" for match in LINE.finditer(log)) + log.count("Exception in ASGI application")
    return int(not (verdict("server errors", errors, 0) & verdict("findings of schemathesis (1: see above)", found, 0)))


if __name__ == "__main__":
    sys.exit(main())
