"""Whatever a stranger sends: schemathesis with all its checks, calls one by one and in sequences, for a while.

    ./drafthouse bench fuzz [--minutes 20] [--seed 0] [--report FILE]

Against a web server of its own with one of everything in it. Needs what `./drafthouse test` installs.
"""

from __future__ import annotations

import argparse
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks._serving import LINE, load, place, verdict

ROOT = Path(__file__).parents[1]
HERE = Path(__file__).parent


@contextmanager
def strangers(folder: Path) -> Iterator[str]:
    """The pages and the API alone, with no broker."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = [sys.executable, "-m", "uvicorn", "benchmarks._strangers:application", "--fd", str(listener.fileno()),
                   "--log-level", "warning", "--no-access-log"]  # fmt: skip
        with (folder / "web.log").open("wb") as log:
            web = subprocess.Popen(command, cwd=ROOT, stderr=log, pass_fds=[listener.fileno()])
        try:
            urllib.request.urlopen(f"{address}/healthz", timeout=60)  # the socket is open: this waits until it is read
            yield address
        finally:
            web.terminate()
            web.wait()


def fuzz(address: str, minutes: float, seed: int, report: Path) -> int:
    """Coverage of every operation, then random calls, then sequences along the links, until the time is over."""
    command = [
        sys.executable, "-m", "schemathesis.cli", "--config-file", str(HERE / "schemathesis.toml"),
        "run", str(ROOT / "docs" / "api" / "openapi.yaml"), "--url", address,
        "--checks", "all", "--phases", "examples,coverage,fuzzing,stateful", "--continue-on-failure",
        "--max-time", str(int(minutes * 60)), "--seed", str(seed), "--no-color",
    ]  # fmt: skip
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "benchmarks._fuzzing", "PYTHONPATH": str(ROOT)}
    with report.open("w") as out:
        done = subprocess.run(command, cwd=report.parent, env=environment, stdout=out, stderr=out, check=False)
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, help="where the findings are to be written; printed unless given")
    asked = parser.parse_args()
    with place() as folder:
        from tests.webapp.everything import one_of_everything
        from tests.webapp.world import a_world

        one_of_everything(a_world())
        report = asked.report.resolve() if asked.report else folder / "report.txt"
        with strangers(folder) as address:
            found = fuzz(address, asked.minutes, asked.seed, report)
        answers = [match["status"] for match in LINE.finditer((folder / "web.log").read_text())]
        if not asked.report:
            print(report.read_text())
    print(f"{len(answers)} requests, {load()}")
    errors = sum(status >= "500" for status in answers)
    return int(not (verdict("server errors", errors, 0) & verdict("findings of schemathesis (1: see above)", found, 0)))


if __name__ == "__main__":
    sys.exit(main())
