"""The service's bars on this machine: pages under load, many at once, and memory while a model is sent.

    ./drafthouse bench service [--runs 10000] [--at-once 200] [--seconds 120] [--upload-gib 2] [--json FILE]

A server of its own, on a data folder of its own that is deleted afterwards (DATABASE_URL is honoured). Server times are
taken from outside, over HTTP on the loopback, so they hold the network stack too.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGE_MS = 300.0
UPLOAD_MIB = 64.0
TIMES = 20
CHUNK = 8 * 1024 * 1024


class Server:
    def __init__(self, process: subprocess.Popen[bytes], port: int, tokens: list[str]) -> None:
        self.process = process
        self.base = f"http://127.0.0.1:{port}"
        *self.tokens, self.session = tokens

    def ask(
        self, method: str, address: str, body: bytes | None = None, kind: str = "application/json", client: int = 0
    ) -> tuple[int, bytes]:
        token = self.tokens[client % len(self.tokens)]
        is_page = not address.startswith("/api/")
        who = {"Cookie": f"dh_session={self.session}"} if is_page else {"Authorization": f"Bearer {token}"}
        headers = {**who, "Content-Type": kind}
        request = urllib.request.Request(self.base + address, method=method, data=body, headers=headers)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def json(self, method: str, address: str, body: Any = None) -> Any:
        status, answer = self.ask(method, address, json.dumps(body).encode() if body is not None else None)
        if status >= 400:
            raise SystemExit(f"{method} {address} answered {status}: {answer[:300]!r}")
        return json.loads(answer)

    def memory_mib(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1024


@contextmanager
def serving(folder: Path, runs: int) -> Iterator[Server]:
    environment = {**os.environ, "DRAFTHOUSE_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "webapp.config.settings"}
    seed = subprocess.run(
        [sys.executable, "-m", "benchmarks.service_load", str(runs)],
        cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["-m", "uvicorn", "webapp.config.asgi:application", "--port", str(port), "--log-level", "warning"]
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen([sys.executable, *command, "--no-access-log"], cwd=ROOT, env=environment, stderr=log)
    server = Server(process, port, seed.stdout.split())
    try:
        for _ in range(100):
            try:
                if server.ask("GET", "/readyz")[0] == 200:
                    break
            except OSError:
                time.sleep(0.1)
        yield server
    finally:
        process.terminate()
        process.wait()


def pages(server: Server) -> dict[str, dict[str, float]]:
    """Each list and each kind of thing, twenty times."""
    comparison = server.json("GET", "/api/v1/comparisons/?limit=1&offset=300")["results"][0]["id"]
    sample = server.json("GET", f"/api/v1/samples/?comparison={comparison}&limit=1")["results"][0]["id"]
    addresses = [
        "/api/v1/comparisons/?limit=50",
        "/api/v1/comparisons/?strategy=static&state=succeeded&ordering=name",
        "/api/v1/comparisons/?name=70",
        f"/api/v1/comparisons/{comparison}/",
        f"/api/v1/comparisons/{comparison}/report/",
        "/api/v1/runs/?limit=50&offset=5000",
        "/api/v1/runs/?strategy=static&ordering=-speedup&speedup_from=1.2",
        "/api/v1/runs/line/",
        "/runs/",
        "/runs/?strategy=static&ordering=-speedup&lookahead_from=3",
        f"/api/v1/samples/?comparison={comparison}",
        "/api/v1/samples/?limit=50",
        f"/api/v1/samples/{sample}/trace/",
        "/api/v1/jobs/?state=succeeded",
        "/api/v1/models/?name=m1",
        "/api/v1/pairs/",
        "/api/v1/datasets/",
        "/api/v1/members/",
    ]
    found = {}
    for address in addresses:
        times = []
        for _ in range(TIMES):
            start = time.perf_counter_ns()
            status, _ = server.ask("GET", address)
            assert status == 200, (address, status)
            times.append((time.perf_counter_ns() - start) / 1e6)
        found[address.replace(comparison, "…").replace(sample, "…")] = {
            "median_ms": statistics.median(times),
            "p95_ms": sorted(times)[int(TIMES * 0.95) - 1],
        }
    return found


def crowd(server: Server, at_once: int, seconds: float) -> dict[str, Any]:
    """So many clients at once, a quarter of them writing, for so long."""
    end = time.perf_counter_ns() + int(seconds * 1e9)
    answers: Counter[int] = Counter()
    lock = threading.Lock()

    def client(number: int) -> None:
        while time.perf_counter_ns() < end:
            if number % 4:
                status, _ = server.ask("GET", "/api/v1/comparisons/?limit=10", client=number)
            else:
                body = b'{"name": "crowd", "text": "one\\ntwo"}'
                status, _ = server.ask("POST", "/api/v1/datasets/", body, client=number)
            with lock:
                answers[status] += 1

    with ThreadPoolExecutor(at_once) as pool:
        list(pool.map(client, range(at_once)))
    return {"at_once": at_once, "seconds": seconds, "answers": {str(code): count for code, count in answers.items()}}


def upload(server: Server, gib: float) -> dict[str, float]:
    """A large file, stopped half-way and resumed: how much memory the server takes for it, and what is sent twice."""
    count = max(2, int(gib * 1024**3 / CHUNK))

    def piece(number: int) -> bytes:
        return number.to_bytes(8, "little") * (CHUNK // 8)

    names = [hashlib.sha256(piece(number)).hexdigest() for number in range(count)]
    listed = {"path": "model.safetensors", "size": count * CHUNK, "chunks": names}
    made = server.json("POST", "/api/v1/uploads/", {"name": "large", "files": [listed]})
    before = peak = server.memory_mib()
    sent: Counter[str] = Counter()
    for missing in (made["missing"][: count // 2], None):
        todo = missing if missing is not None else server.json("GET", f"/api/v1/uploads/{made['id']}/")["missing"]
        for name in todo:
            address = f"/api/v1/uploads/{made['id']}/chunks/{name}/"
            status, _ = server.ask("PUT", address, piece(names.index(name)), "application/octet-stream")
            assert status == 204, status
            sent[name] += 1
            peak = max(peak, server.memory_mib())
    server.json("POST", f"/api/v1/uploads/{made['id']}/complete/")
    return {"gib": count * CHUNK / 1024**3, "grown_mib": peak - before, "sent_twice": sum(n - 1 for n in sent.values())}


def show(name: str, figure: float, bar: float) -> None:
    print(f"{'ok  ' if figure <= bar else 'MISS'} {name:72} {figure:8.1f}   bar ≤ {bar:g}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--at-once", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--upload-gib", type=float, default=2)
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "results" / "service.json")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="drafthouse-bench-"))
    try:
        with serving(folder, given.runs) as server:
            results = {
                "runs": given.runs,
                "pages": pages(server),
                "upload": upload(server, given.upload_gib),
                "crowd": crowd(server, given.at_once, given.seconds),
            }
    finally:
        shutil.rmtree(folder)
    for address, times in results["pages"].items():
        show(f"p95 ms of {address}", times["p95_ms"], PAGE_MS)
    show(f"MiB grown by an upload of {results['upload']['gib']:g} GiB", results["upload"]["grown_mib"], UPLOAD_MIB)
    show("chunks sent twice after an interruption", results["upload"]["sent_twice"], 0)
    wrong = {code: count for code, count in results["crowd"]["answers"].items() if int(code) >= 400 and code != "429"}
    show(f"wrong answers with {given.at_once} at once {results['crowd']['answers']}", sum(wrong.values()), 0)
    given.json.parent.mkdir(exist_ok=True)
    given.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
