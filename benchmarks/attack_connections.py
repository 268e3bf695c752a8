"""Measure what many idle connections cost other clients, and how soon a revoked right ends a connection.

    ./drafthouse bench attack_connections [--count 500] [--json FILE]

Several addresses of this machine attack a service that runs for this benchmark only: with idle long polls, with headers
and bodies that stop halfway, and with pages requested with `?wait=1`. Meanwhile one client reads the API; its 95th
percentile counts. Then rights are revoked under open sockets and long polls. Exit code 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks._serving import load, place, serving, verdict
from benchmarks.live import seconds_of

OTHERS_MS, GROWN_MIB, ENDED_S = 300.0, 100.0, 5.0
THREADS = 40  # 16 at work, as many ending, and a few of the event loop
READINGS, PAUSE_S = 40, 0.05
ACTORS = 10  # tokens that the long polls share
_addresses = count()


class Target:
    """Web process, and ways to connect to it."""

    def __init__(self, up: Any) -> None:
        self.host, _, port = up.address.removeprefix("http://").partition(":")
        self.port, self.pid = int(port), up.pid_of("supervisor.web")

    async def line(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect from one of ten addresses, in turn."""
        source = f"127.0.1.{1 + next(_addresses) % 10}"
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(source, 0))

    def request(self, path: str, token: str = "") -> bytes:
        bearer = f"Authorization: Bearer {token}\r\n" if token else ""
        return f"GET {path} HTTP/1.1\r\nHost: localhost:{self.port}\r\n{bearer}\r\n".encode()

    def state(self) -> dict[str, float]:
        process = Path(f"/proc/{self.pid}")
        status = (process / "status").read_text()
        figures = {name: int(status.split(f"{name}:")[1].split()[0]) for name in ("VmRSS", "Threads")}
        files = len(list((process / "fd").iterdir()))
        return {"mib": figures["VmRSS"] / 1024, "threads": figures["Threads"], "files": files}


async def others(target: Target, token: str) -> list[float]:
    """Times in ms of an ordinary client's requests meanwhile."""
    took = []
    for _ in range(READINGS):
        start = time.perf_counter()
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        writer.write(target.request("/api/v1/me/", token))
        status = await reader.readline()
        assert b" 200 " in status, status
        took.append((time.perf_counter() - start) * 1e3)
        writer.close()
        await asyncio.sleep(PAUSE_S)
    return sorted(took)


async def attacked(target: Target, token: str, said: list[bytes]) -> dict[str, float]:
    """Open a connection for each message, send it, and hold all of them open."""
    before = target.state()
    top: dict[str, float] = {}
    async with AsyncExitStack() as leaving:
        endings = []
        for words in said:
            with suppress(ConnectionError):
                reader, writer = await target.line()
                leaving.callback(writer.close)
                writer.write(words)
                endings.append(asyncio.create_task(ended(reader)))
        watching = asyncio.create_task(worst(target, top))
        await settled(target)
        took = await others(target, token)
        watching.cancel()
        held = sum(not ending.done() for ending in endings)
        start = time.perf_counter()
        closed = await asyncio.gather(*endings)
    return {
        "p95_ms": took[int(len(took) * 0.95)],
        "threads": top["threads"],
        "files": top["files"],
        "grown_mib": top["mib"] - before["mib"],
        "held_meanwhile": held / len(said),
        "closed_in_the_end": sum(closed) / len(said),
        "closed_after_s": time.perf_counter() - start,
    }


async def settled(target: Target) -> None:
    """Wait until the web process is nearly idle: the cost of waiting counts, not that of so many arrivals."""
    quiet = 0
    for _ in range(20):
        before = seconds_of(target.pid)
        await asyncio.sleep(0.5)
        quiet = quiet + 1 if seconds_of(target.pid) - before <= 0.05 else 0
        if quiet == 2:
            return


async def worst(target: Target, top: dict[str, float]) -> None:
    """Keep the maximum of every figure."""
    while True:
        top |= {name: max(value, top.get(name, 0.0)) for name, value in target.state().items()}
        await asyncio.sleep(0.1)


async def ended(reader: asyncio.StreamReader) -> bool:
    """Whether the server closes the connection within its longest timeout."""
    try:
        async with asyncio.timeout(45):
            await reader.read(1)
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


async def revoked(target: Target, path: str, headers: dict[str, str], end: Callable[[], Any]) -> float:
    """Seconds from the end of a right to the end of a socket that needed it."""
    from websockets.asyncio.client import connect
    from websockets.exceptions import ConnectionClosed

    origin = f"http://localhost:{target.port}"
    is_program = not headers and "/shared/" not in path  # it has a ticket, but no page
    told = {"additional_headers": headers, "origin": None if is_program else origin, "ping_interval": None}
    async with connect(f"ws://localhost:{target.port}{path}", **told) as socket:
        await socket.send('{"t": "follow"}')
        await socket.recv()
        await asyncio.to_thread(end)
        start = time.perf_counter()
        with suppress(ConnectionClosed):
            async with asyncio.timeout(30):
                while True:
                    await socket.recv()
    return time.perf_counter() - start


def made(world: Any) -> dict[str, Any]:
    from tests.kit import make
    from webapp.accounts import services
    from webapp.accounts.models import Scope
    from webapp.jobs import services as jobs
    from webapp.jobs.models import Job
    from webapp.sharing import services as sharing

    by = world.actor(world.alice)
    comparison = make.comparison(by)
    Job.objects.exclude(pk=comparison.job.pk).delete()
    jobs.claim(worker="bench", queues=["cpu"])
    tokens = [services.create_token(name=f"t{n}", scope=Scope.READ, days=1, by=by) for n in range(ACTORS + 2)]
    _, secret = sharing.share(comparison=comparison, days=1, hides_texts=False, by=by)
    return {"comparison": comparison, "tokens": tokens, "secret": secret, "by": by}


def attacks(target: Target, things: dict[str, Any], number: int) -> dict[str, list[bytes]]:
    """Messages to send, one per connection."""
    road = f"/api/v1/comparisons/{things['comparison'].pk}/events/?since=2035-01-01T00:00:00Z&wait=25"
    tokens = [spelled for _, spelled in things["tokens"][:ACTORS]]
    polls = [target.request(road, tokens[n % ACTORS]) for n in range(number)]
    header = f"GET / HTTP/1.1\r\nHost: localhost:{target.port}\r\nX-Slow: ".encode()
    body = f"POST /sign-in/ HTTP/1.1\r\nHost: localhost:{target.port}\r\nContent-Length: 1000\r\n\r\nabc".encode()
    pages = [target.request("/sign-in/?wait=1")] * (number * 3 // 5)
    return {
        "idle long polls": polls,
        "slow headers": [header] * number,
        "slow bodies": [body] * number,
        "GET /sign-in/?wait=1": pages,
    }


def rights(world: Any, things: dict[str, Any]) -> dict[str, tuple[str, dict[str, str], Callable[[], Any]]]:
    """Ways to open a socket, each with the call that takes the right to it away."""
    from benchmarks._sessions import session_of
    from webapp.accounts import services
    from webapp.accounts.models import Membership, User
    from webapp.sharing import services as sharing
    from webapp.sharing.models import Share

    path, by = f"/ws/comparisons/{things['comparison'].pk}/", things["by"]
    User.objects.filter(pk=world.alice.pk).update(is_operator=True)
    operator = world.actor(world.alice)
    cookies = {user: {"Cookie": f"dh_session={session_of(user)}"} for user in (world.bob, world.victor)}
    victor = Membership.objects.get(user=world.victor)
    return {
        "share revoked": (
            f"/ws/shared/{things['secret']}/?ticket=x", {}, lambda: sharing.revoke(share=Share.objects.get(), by=by)
        ),
        "user deactivated": (path, cookies[world.bob], lambda: services.deactivate(user=world.bob, by=operator)),
        "member removed": (path, cookies[world.victor], lambda: services.remove(membership=victor, by=by)),
        "token revoked": (
            f"{path}?ticket=", {}, lambda: services.revoke_token(token=things["tokens"][-1][0], by=by)
        ),
    }  # fmt: skip


async def warmed(target: Target, things: dict[str, Any]) -> None:
    """Request everything a few times, so that all code is loaded before memory is measured."""
    kinds = attacks(target, things, 40)
    said = [words.replace(b"wait=25", b"wait=1") for words in kinds["idle long polls"]]
    lines = [await target.line() for _ in said]
    for (_, writer), words in zip(lines, said, strict=True):
        writer.write(words)
    for reader, writer in lines:
        assert b" 200 " in await reader.readline()
        writer.close()


async def story(target: Target, world: Any, things: dict[str, Any], number: int, ticket: Callable[[], str]) -> Any:
    token = things["tokens"][ACTORS][1]
    await warmed(target, things)
    found: dict[str, Any] = {"attacks": {}, "revoked_s": {}}
    for name, said in attacks(target, things, number).items():
        found["attacks"][name] = await attacked(target, token, said)
        await asyncio.sleep(3)
    for name, (path, headers, end) in (await asyncio.to_thread(rights, world, things)).items():
        whole = path + await asyncio.to_thread(ticket) if path.endswith("ticket=") else path
        found["revoked_s"][name] = await revoked(target, whole, headers, end)
    return found


def measured(number: int) -> dict[str, Any]:
    with place() as folder:
        from tests.kit.teams import a_world

        world = a_world()
        things = made(world)
        with serving(folder) as up:
            spelled = things["tokens"][-1][1]
            return asyncio.run(
                story(Target(up), world, things, number, lambda: up.call("tickets/", spelled, {})["ticket"])
            )


def judged(found: dict[str, Any]) -> bool:
    is_good = []
    for name, figures in found["attacks"].items():
        print(f"{name:24}" + "  ".join(f"{key} {value:.1f}" for key, value in figures.items()))
        is_good.append(verdict(f"{name}: threads", figures["threads"], THREADS))
        is_good.append(verdict(f"{name}: MiB that the web process has grown", figures["grown_mib"], GROWN_MIB))
        if "?wait" not in name:  # pages do work; the other attacks only wait
            is_good.append(verdict(f"{name}: ms of other requests, p95", figures["p95_ms"], OTHERS_MS))
            is_good.append(
                verdict(f"{name}: share that was gone before that was known", 1 - figures["held_meanwhile"], 0.1)
            )
            is_good.append(verdict(f"{name}: share that was never ended", 1 - figures["closed_in_the_end"], 0.0))
    for name, took_s in found["revoked_s"].items():
        is_good.append(verdict(f"{name}: s until its socket was closed", took_s, ENDED_S))
    return all(is_good)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench attack_connections",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--count", type=int, default=500, help="connections of each kind (%(default)s)")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = {**measured(asked.count), "load": load()}
    print(found["load"])
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(not judged(found))


if __name__ == "__main__":
    sys.exit(main())
