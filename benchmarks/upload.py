"""Send a large file with `./drafthouse send`, with the web server killed halfway: how much memory, how much is sent
again?

    ./drafthouse bench upload [--gib 2] [--json FILE]

Needs disk space for twice the file. The sender is killed together with its server, as when a machine goes down: between
two pieces it would not notice, because the supervisor keeps the port open. Then the sender starts again, as a user
would start it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks._serving import LINE, Web, load, place, serving, verdict
from tests.launcher.up import Up, until

ROOT = Path(__file__).parents[1]
CHUNK = 8 * 1024 * 1024
MEMORY_MIB = 64.0


def write(path: Path, gib: float) -> int:
    """Write a file without two equal chunks. Returns their number."""
    count = max(2, int(gib * 1024**3) // CHUNK)
    with path.open("wb") as file:
        for number in range(count):
            file.write(number.to_bytes(8, "little") * (CHUNK // 8))
    return count


def send(file: Path, up: Up, token: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "worker.terminal.send", str(file), "--to", up.address]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "DRAFTHOUSE_TOKEN": token}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def taken(up: Up) -> int:
    """Pieces that the service has taken, by its log."""
    return sum(match["what"].startswith("PUT ") and match["status"] == "204" for match in LINE.finditer(up.said))


def told(sender: subprocess.Popen[str]) -> tuple[int, int]:
    """Pieces that the sender sent, and how many it had to send, by its last output."""
    _, words = sender.communicate()
    found = re.findall(r"(\d+) of (\d+) pieces sent", words)
    if not found:
        raise SystemExit(f"The sender sent nothing: {words}")
    return int(found[-1][0]), int(found[-1][1])


def measure(folder: Path, gib: float) -> dict[str, Any]:
    file = folder / "model.safetensors"
    count = write(file, gib)
    with serving(folder) as up:
        token = up.token("--scope", "submit")
        web = Web(up)
        up.call("uploads/", token)  # loads what the first request loads
        before = web.memory_mib()
        start = time.monotonic()
        first = send(file, up, token)
        until(lambda: taken(up) >= count // 2 or first.poll() is not None, "half of the pieces", 600)
        grown = web.memory_mib("VmHWM") - before
        os.kill(web.pid, signal.SIGKILL)
        first.kill()
        acknowledged, _ = told(first)
        until(lambda: up.find("supervisor.web") not in (None, web.pid), "the web server's next start")
        up.patiently("uploads/", token)
        web = Web(up)
        before = web.memory_mib()
        second = send(file, up, token)
        sent, due = told(second)
        (upload,) = up.call("uploads/?limit=1", token)["results"]
        return {
            "gib": round(count * CHUNK / 1024**3, 2), "pieces": count, "acknowledged_before_the_kill": acknowledged,
            "sent_after_it": sent, "sent_twice": max(0, acknowledged + due - count), "state": upload["state"],
            "grown_mib": round(max(grown, web.memory_mib("VmHWM") - before), 1),
            "seconds": round(time.monotonic() - start, 1), "machine": load(),
        }  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="./drafthouse bench upload", description=__doc__)
    parser.add_argument("--gib", type=float, default=2)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    with place() as folder:
        outcome = measure(folder, asked.gib)
    print(json.dumps(outcome, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(outcome, indent=1) + "\n")
    fine = [verdict("MiB that the web process grew by", outcome["grown_mib"], MEMORY_MIB),
            verdict("pieces sent twice", outcome["sent_twice"], 0),
            verdict("pieces that are not there", outcome["state"] != "complete", 0)]  # fmt: skip
    return int(not all(fine))


if __name__ == "__main__":
    sys.exit(main())
