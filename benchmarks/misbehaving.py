"""Open thousands of misbehaving sockets: unreadable messages, unknown names, sessions that are missing, expired or of
another team.

    ./drafthouse bench misbehaving [--count 10000] [--at-once 20] [--json FILE]

The server must close each with its code and a sentence, and send it nothing else. In the end the server must be the
same process with the same sockets and hardly more memory, and a client that watched throughout must still receive what
is new.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

from benchmarks._serving import load, place, serving, verdict

GROWN_MIB = 16.0
FOLLOW = json.dumps({"t": "follow"})
# Message, sender, and the code that answers it.
WAYS = (
    ("{", "bob", 4008),
    ('{"t": "launch"}', "bob", 4008),
    ('{"t": "follow", "after": {"x": 1}}', "bob", 4008),
    (json.dumps({"t": "follow", "after": {str(uuid4()): 2**31}}), "bob", 4008),
    (json.dumps({"t": "follow", "after": {str(uuid4()): 1 for _ in range(501)}}), "bob", 4008),
    ("[" * 60_000, "bob", 4008),
    (FOLLOW, "charlie", 4004),
    (FOLLOW, "nobody", 4001),
    (FOLLOW, "gone", 4001),
)


async def misbehave(address: str, way: tuple[str, str, int], sessions: dict[str, str]) -> str:
    """Return `as it should be`, or the error in the answer."""
    from websockets.asyncio.client import connect  # imported late: --help must not need it
    from websockets.exceptions import ConnectionClosed

    said, who, code = way
    headers = {"Cookie": f"dh_session={sessions[who]}"} if who in sessions else {}
    origin = address.replace("ws://", "http://").split("/ws/")[0]
    async with connect(address, additional_headers=headers, origin=origin, ping_interval=None) as socket:
        try:
            await socket.send(said)
            return f"told {str(await socket.recv())[:80]}"
        except ConnectionClosed:
            pass
        is_right = socket.close_code == code and (socket.close_reason or "").endswith(".")
        return "as it should be" if is_right else f"{code} was due: {socket.close_code} {socket.close_reason}"


async def storm(address: str, sessions: dict[str, str], asked: argparse.Namespace, write: Any) -> dict[str, Any]:
    """Open all of them while one client watches; then write something new, which that client must receive."""
    from websockets.asyncio.client import connect

    origin = address.replace("ws://", "http://").split("/ws/")[0]
    answers: Counter[str] = Counter()
    numbers = iter(range(asked.count))

    async def one_after_another() -> None:
        for number in numbers:
            answers[await misbehave(address, WAYS[number % len(WAYS)], sessions)] += 1

    cookie = {"Cookie": f"dh_session={sessions['bob']}"}
    async with connect(address, additional_headers=cookie, origin=origin) as watcher:
        await watcher.send(FOLLOW)
        await watcher.recv()
        await asyncio.gather(*(one_after_another() for _ in range(asked.at_once)))
        await asyncio.to_thread(write)
        async with asyncio.timeout(60):
            while not any(frame["t"] == "events" for frame in json.loads(await watcher.recv())):
                pass
    return {"answers": dict(answers), "the watcher": "was told what was new"}


def measured(asked: argparse.Namespace) -> dict[str, Any]:
    with place() as folder:
        from django.contrib.sessions.models import Session

        from benchmarks._sessions import session_of
        from tests.webapp import make
        from tests.webapp.world import a_world
        from webapp.comparisons import services, trace
        from webapp.jobs import services as jobs
        from webapp.jobs.models import Job

        world = a_world()
        comparison = make.comparison(world.actor(world.bob))
        Job.objects.exclude(pk=comparison.job.pk).delete()
        job = jobs.claim(worker="bench", queues=["cpu"])
        prompt, repeat, runs = next(make.remaining(comparison))
        sample = services.begin_sample(job=job, run=runs[0], prompt=prompt, repeat=repeat, device="cpu")
        people = {"bob": world.bob, "charlie": world.charlie, "gone": world.victor}
        sessions = {name: session_of(user) for name, user in people.items()}
        Session.objects.filter(session_key=sessions["gone"]).delete()

        written = count(1)

        def write() -> None:
            seq = next(written)
            trace.append(sample=sample, first_seq=seq, events=[{"seq": seq}])

        with serving(folder) as up:
            address = f"{up.address.replace('http', 'ws')}/ws/comparisons/{comparison.pk}/"
            small = argparse.Namespace(**{**vars(asked), "count": 20 * len(WAYS)})
            asyncio.run(storm(address, sessions, small, write))  # loads all code before the measurement
            before = state(up.pid_of("supervisor.web"))
            found = asyncio.run(storm(address, sessions, asked, write))
            after = state(up.pid_of("supervisor.web"))
    return {"load": load(), **found, "before": before, "after": after}


def state(pid: int | None) -> dict[str, float]:
    status = Path(f"/proc/{pid}/status").read_text()
    files = len(list(Path(f"/proc/{pid}/fd").iterdir()))
    return {"pid": pid or 0, "files": files, "mib": int(status.split("VmRSS:")[1].split()[0]) / 1024}


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./drafthouse bench misbehaving", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--at-once", type=int, default=20)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    found = measured(asked)
    print(json.dumps(found, indent=1))
    wrong = asked.count - found["answers"].get("as it should be", 0)
    is_good = [
        verdict("answers that were not as they should be", wrong, 0),
        verdict("MiB that the web process has grown", found["after"]["mib"] - found["before"]["mib"], GROWN_MIB),
        verdict("files it has left open", found["after"]["files"] - found["before"]["files"], 2),
        verdict("times it was started anew", float(found["after"]["pid"] != found["before"]["pid"]), 0),
    ]
    if asked.json:
        asked.json.write_text(json.dumps(found, indent=1) + "\n")
    return int(not all(is_good))


if __name__ == "__main__":
    sys.exit(main())
