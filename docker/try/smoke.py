#!/usr/bin/env python3
"""Use a Drafthouse that compose.sh runs as its users would, and break what may break.

    docker/try/inside.sh offline docker/try/smoke.py [--without STEP]...

Each step prints one line. The first failure ends the program with exit status 1.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from visitor import Visitor

ROOT = Path(__file__).resolve().parents[2]
NAME = "lab.test"
PORT = 8443
PATIENCE = 600.0  # s for a comparison of a few prompts on a busy machine
SERVICES = ("db", "valkey", "web", "scheduler", "worker", "worker-light", "nginx")
FOREIGN = (
    "/app/.env",
    "/app/.git",
    "/app/docs",
    "/app/secrets",
    "/app/tests",
    "/app/docker",
    "/app/requirements-dev.txt",
)
LOCKED = """
grep -Eq "^[^ ]+ / [^ ]+ ro[, ]" /proc/mounts || { echo "the root folder can be written"; exit 1; }
grep -q "NoNewPrivs:.1" /proc/self/status || { echo "a program may gain privileges"; exit 1; }
grep -q "CapBnd:.0000000000000000" /proc/self/status || { echo "capabilities are left"; exit 1; }
"""


def compose(*arguments: str, stdin: bytes = b"") -> bytes:
    command = [str(ROOT / "docker" / "try" / "compose.sh"), *arguments]
    done = subprocess.run(command, cwd=ROOT, input=stdin, capture_output=True)
    if done.returncode:
        raise AssertionError(f"{' '.join(arguments)}: {(done.stdout + done.stderr).decode()[-2000:]}")
    return done.stdout


def token(*arguments: str) -> str:
    return compose("exec", "web", "python", "-m", "worker.supervisor.token", *arguments).decode().strip()


def until(holds: Callable[[], Any], what: str) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := holds()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.5)
    return found


def visitor() -> Visitor:
    return Visitor(NAME, PORT, ROOT / "secrets" / "tls.crt")


def is_healthy(service: str) -> bool:
    try:
        compose("health", service)
    except AssertionError:
        return False
    return True


def restored(kept: bytes) -> bool:
    """Whether restore accepted the file. It refuses for 20 s after a worker's last report."""
    try:
        compose("exec", "web", "python", "-m", "worker.supervisor.backup", "restore", "-", "--replace", stdin=kept)
    except AssertionError as refusal:
        if "Workers are at work" not in str(refusal):
            raise
        return False
    return True


class Smoke:
    """The steps in order. Later ones use the results of earlier ones."""

    def images(self) -> str:
        """Check that images hold the program, nothing else of the checkout, and no password."""
        passwords = [path.read_text() for path in (ROOT / "secrets").iterdir() if path.suffix == ""]
        for service in ("web", "worker"):
            held = compose("exec", service, "sh", "-c", f"ls -d {' '.join(FOREIGN)} 2>/dev/null || true")
            assert not held.strip(), f"{service} has {held.decode()}"
            for password in passwords:
                found = compose("exec", service, "sh", "-c", f"grep -rl {password} /app || true")
                assert not found.strip(), f"{service} has a password in {found.decode()}"
        return "hold the program and no secret"

    def locks(self) -> str:
        """Check that no container can write its own files or gain privileges."""
        for service in SERVICES:
            compose("exec", service, "sh", "-c", LOCKED)
        return f"hold in {len(SERVICES)} containers: read-only, no capabilities, no new privileges"

    def health(self) -> str:
        for service in SERVICES:
            assert is_healthy(service), f"{service} is not healthy"
        return f"is good in {len(SERVICES)} containers"

    def sign_in(self) -> str:
        person = visitor()
        assert person.submit(token("--sign-in")).status == 302
        page = person.ask("GET", "/comparisons/")
        assert page.status == 200 and b"Comparisons" in page.body
        assert visitor().ask("GET", "/", Host="evil.test").status == 400
        return "works through the proxy with a one-time link; a wrong host gets 400"

    def comparison(self) -> str:
        """Submit the demo over REST, kill the database halfway, and see every sample arrive."""
        self.token = token()
        self.made = visitor().call("comparisons/", self.token, self.demo())
        until(lambda: self.job()["done_count"] > 2, "the first samples")
        compose("kill", "db")
        start = time.monotonic()
        answer = visitor().ask("GET", "/readyz")
        assert answer.status == 503, f"without a database /readyz says {answer.status}"
        took = time.monotonic() - start
        compose("start", "db")
        until(lambda: visitor().ask("GET", "/readyz").status == 200, "the database")
        job = until(lambda: (found := self.job())["state"] not in ("queued", "running") and found, "the comparison")
        assert job["state"] == "succeeded", job["reason"]
        self.report = self.read_report()
        return (
            f"finished with {job['done_count']} samples in attempt {job['attempt']}; "
            f"/readyz told of the killed database in {took:.1f} s"
        )

    def demo(self) -> dict[str, Any]:
        pairs, prompts = (visitor().call(f"{noun}/", self.token)["results"] for noun in ("pairs", "datasets"))
        return {
            "name": "Demo",
            "pair": next(pair["id"] for pair in pairs if pair["name"] == "Starter"),
            "dataset": next(dataset["id"] for dataset in prompts if dataset["name"] == "Starter code"),
            "split": "test",
            "limit": 8,
            "strategies": [
                {"strategy": "static", "params": {"lookahead": 4}},
                {"strategy": "ssd"},
                {"strategy": "disco"},
            ],
        }

    def job(self) -> Any:
        return visitor().call(f"jobs/{self.made['job']['id']}/", self.token)

    def read_report(self) -> Any:
        return visitor().call(f"comparisons/{self.made['id']}/report/", self.token)["strategies"]

    def down_and_up(self) -> str:
        compose("down")
        compose("up")
        assert self.read_report() == self.report, "the report is another"
        return "kept the comparison and the token"

    def backup(self) -> str:
        """Back up to a file, then restore it into empty volumes."""
        kept = compose("exec", "web", "python", "-m", "worker.supervisor.backup", "backup", "-")
        compose("down", "-v")
        compose("up")
        for service in ("scheduler", "worker", "worker-light"):
            compose("stop", service)
        until(lambda: restored(kept), "workers to be counted as gone")
        compose("stop", "web")
        for service in ("web", "scheduler", "worker", "worker-light"):
            compose("start", service)
            until(lambda service=service: is_healthy(service), f"{service} to start again")
        assert self.read_report() == self.report, "the report is another"
        return f"of {len(kept) / 2**20:.0f} MiB brought everything back into empty volumes"


STEPS = ("images", "locks", "health", "sign_in", "comparison", "down_and_up", "backup")


def main() -> int:
    parser = argparse.ArgumentParser(description="Try a Drafthouse that docker/try/compose.sh has started.")
    parser.add_argument("--without", action="append", choices=STEPS, default=[], help="leave a step out")
    left_out = parser.parse_args().without
    smoke = Smoke()
    for step in STEPS:
        if step in left_out:
            continue
        start = time.monotonic()
        try:
            said = getattr(smoke, step)()
        except AssertionError as error:
            print(f"{step}: FAILED. {error}")
            return 1
        print(f"{step.replace('_', ' ')} {said} ({time.monotonic() - start:.0f} s)", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
