"""Measure hostile requests: bodies and queries made to be expensive, sent to every REST address that takes one.

    ./drafthouse bench attack_requests [--tries 3] [--json FILE]

The service must refuse each within 100 ms, by an answer of less than 10 kB. Of several tries the fastest counts. `cpu`
is the web process's own time, which other programs hardly change. Addresses that read no body may do their normal work.
"""

from __future__ import annotations

import argparse
import http.client
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks._serving import Web, load, place, serving, verdict

SLOWEST_MS, LARGEST_BYTES = 100.0, 10_000
SHOWN = 12
SHA = "0" * 64
LATE = {"path": "a", "size": 8 * 2**20, "chunks": [SHA]}


def names(count: int, value: Any = 0) -> dict[str, Any]:
    return {f"key{number}": value for number in range(count)}


def bodies() -> dict[str, bytes]:
    plain: dict[str, Any] = {
        "10 unknown names": names(10),
        "9,000 unknown names": names(9_000),
        "16,000 unknown names": names(16_000),
        "600,000 unknown names": names(600_000),
        "a name of 900 kB": {"x" * 900_000: 1},
        "20 names of 40 kB": {f"{number}{'y' * 40_000}": 1 for number in range(20)},
        "350,000 strategies": {"strategies": [{}] * 350_000},
        "9,000 strategies": {"strategies": [{"strategy": "static"}] * 3_000},
        "32 wrong strategies": {"strategies": [{"strategy": "x" * 20_000, "params": names(90)}] * 32},
        "32 strategies of unknown names": {"strategies": [names(200)] * 32},
        "5,000 parameters": {"strategies": [{"strategy": "static", "params": names(5_000)}]},
        "nested parameters": {"strategies": [{"strategy": "static", "params": {"lookahead": [[[1] * 5_000]]}}]},
        "9,000 stops": {"sampling": {"stop": ["a"] * 9_000}},
        "2,000 wrong files": {"name": "x", "files": [{"path": "../a", "size": -1, "chunks": ["x"]}] * 2_000},
        "2,000 files, the last one wrong": {
            "name": "x", "files": [{**LATE, "path": f"a{number}"} for number in range(1_999)] + [{}],
        },
        "100,000 chunks, the last one wrong": {
            "name": "x", "files": [{"path": "a", "size": 8 * 2**20 * 100_000, "chunks": [SHA] * 99_999 + ["x"]}],
        },
        "100,000 numbers as chunks": {"name": "x", "files": [{"path": "a", "size": 1, "chunks": [1] * 100_000}]},
        "texts of 1 MB": {name: "x" * 100_000 for name in ("name", "text", "template", "reason", "path", "hub_id")},
        "a text of 7 MB and a wrong template": {"name": "x", "text": "\u00e9" * 1_000_000, "template": "{" * 10_001},
        "numbers of 40 digits": dict.fromkeys(("days", "seed", "limit", "repeats", "priority"), 10**39),
    }  # fmt: skip
    raw = {
        "a number of 5,000 digits": b'{"days": ' + b"9" * 5_000 + b"}",
        "NaN": b'{"days": NaN, "limit": Infinity}',
        "1e999": b'{"temperature": 1e999}',
        "100,000 levels": b"[" * 100_000,
        "40 levels": b'{"a":' * 40 + b"1" + b"}" * 40,
        "8 MB of quotes": b'"' * 8_000_000,
        "8 MB of backslashes": b'{"a":"' + b"\\\\" * 3_900_000 + b'"}',
        "8 MB of numbers": b'{"a":[' + b"1," * 3_900_000 + b"1]}",
        "no JSON at the end of 8 MB": b'{"text": "' + b"a" * 8_000_000 + b'"',
        "UTF-16": json.dumps(names(50_000)).encode("utf-16"),
        "halves of pairs": b'{"text": "' + b"\\ud800" * 600_000 + b'"}',
    }
    return {name: json.dumps(body).encode() for name, body in plain.items()} | raw


QUERIES = {
    "500 names": "&".join(f"a{number}=1" for number in range(500)),
    "20,000 names": "&".join(["a"] * 20_000),
    "3,000 orders": "ordering=" + ",".join(["created"] * 3_000),
    "a long order": "ordering=" + "x" * 30_000,
    "many fields": "fields=" + ",".join(["a"] * 10_000),
    "a long value": "name=" + "x" * 30_000 + "&q=" + "x" * 1_000,
    "wrong cursors": "after=" + ",".join(["x:1"] * 5_000),
    "large numbers": "limit=" + "9" * 5_000 + "&offset=" + "9" * 5_000,
}


@dataclass
class Outcome:
    what: str
    status: int
    ms: float
    cpu_ms: float
    bytes: int

    @property
    def is_refused(self) -> bool:
        return 400 <= self.status < 500


class Stranger:
    """Client with enough tokens to stay below the rate limit."""

    def __init__(self, address: str, web: Web, tokens: list[str], tries: int) -> None:
        self.where = urlsplit(address)
        self.web = web
        self.tokens = tokens
        self.tries = tries
        self.asked = 0

    def ask(self, what: str, method: str, path: str, body: bytes = b"") -> Outcome:
        tries = [self._once(what, method, path, body) for _ in range(self.tries)]
        first = tries[0]  # a second try may be refused because of what the first did
        return Outcome(what, first.status, min(t.ms for t in tries), min(t.cpu_ms for t in tries), first.bytes)

    def _once(self, what: str, method: str, path: str, body: bytes) -> Outcome:
        self.asked += 1
        token = self.tokens[self.asked // 1_000 % len(self.tokens)]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        line = http.client.HTTPConnection(self.where.hostname or "", self.where.port, timeout=120)
        try:
            line.connect()
            before, begun = self._cpu_s(), time.perf_counter()
            line.request(method, path, body=body or None, headers=headers)
            answer = line.getresponse()
            content = answer.read()
            took, worked = time.perf_counter() - begun, self._cpu_s() - before
            return Outcome(what, answer.status, took * 1000, worked * 1000, len(content))
        finally:
            line.close()

    def _cpu_s(self) -> float:
        return sum(self.web.cpu_s().values())


def attack(stranger: Stranger, things: dict[str, Any]) -> Iterator[Outcome]:
    from tests.kit.addresses import address, routes

    shapes = bodies()
    for method, pattern in routes():
        path = address(pattern, things)
        if not path.startswith("/api/v1/") or method == "DELETE":
            continue
        if method == "GET":
            for name, query in QUERIES.items():
                yield stranger.ask(f"GET {pattern.name}: {name}", method, f"{path}?{query}")
        else:
            for name, body in shapes.items():
                yield stranger.ask(f"{method} {pattern.name}: {name}", method, path, body)


def measured(tries: int) -> list[Outcome]:
    with place() as folder:
        from tests.kit.everything import one_of_everything
        from tests.kit.teams import a_world
        from webapp.accounts import services as accounts
        from webapp.accounts.models import Scope

        world = a_world()
        things = one_of_everything(world)
        by = world.actor(world.alice)
        tokens = [accounts.create_token(name="t", scope=Scope.ADMIN, days=1, by=by)[1] for _ in range(20)]
        with serving(folder) as up:
            stranger = Stranger(up.address, Web(up), tokens, tries)
            for _ in range(20):
                stranger.ask("", "GET", "/api/v1/me/")  # loads all code before the measurement
            return list(attack(stranger, things))


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench attack_requests",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    outcomes = measured(asked.tries)
    refused = [one for one in outcomes if one.is_refused]
    for title, order in (
        ("slowest", lambda one: -one.ms),
        ("dearest", lambda one: -one.cpu_ms),
        ("largest", lambda one: -one.bytes),
    ):
        print(f"\nThe {title} of {len(refused)} refusals, {load()}:")
        for one in sorted(refused, key=order)[:SHOWN]:
            print(f"  {one.ms:8.1f} ms {one.cpu_ms:8.1f} ms cpu {one.bytes:8} bytes  {one.status}  {one.what}")
    broken = [one for one in outcomes if one.status >= 500]
    for one in broken:
        print(f"  {one.status}  {one.what}")
    print()
    is_good = [
        verdict("ms for the slowest refusal", max(one.ms for one in refused), SLOWEST_MS),
        verdict("ms of the web process's cpu for the dearest refusal", max(one.cpu_ms for one in refused), SLOWEST_MS),
        verdict("bytes of the largest refusal", max(one.bytes for one in refused), LARGEST_BYTES),
        verdict("errors of the server", len(broken), 0),
        verdict("requests that were told to come back later", sum(one.status == 429 for one in outcomes), 0),
    ]
    if asked.json:
        asked.json.write_text(json.dumps([vars(one) for one in outcomes], indent=1) + "\n")
    return int(not all(is_good))


if __name__ == "__main__":
    sys.exit(main())
