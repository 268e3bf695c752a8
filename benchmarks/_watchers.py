"""Many watchers of one comparison, in a separate process. `watch` opens their sockets as pages do and stores each
message with its time. It parses nothing until the end, so 50 watchers load the machine no more than browsers elsewhere
would."""

from __future__ import annotations

import asyncio
import json
import time
from collections import defaultdict
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from websockets.asyncio.client import ClientConnection


@dataclass
class Heard:
    """Events that one watcher received: for each sample every seq, in order, and when its first message came."""

    seqs: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    at_ns: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    messages: int = 0
    bytes: int = 0

    def note(self, message: str, now: int) -> None:
        self.messages += 1
        self.bytes += len(message)
        for frame in json.loads(message):
            if frame["t"] == "events":
                known = set(self.seqs[frame["sample"]])
                told = [event["seq"] for event in frame["events"] if event["seq"] not in known]
                self.seqs[frame["sample"]] += told
                self.at_ns[frame["sample"]] += [now] * len(told)


def watch(address: str, cookie: str, count: int, line: Connection) -> None:
    """Send `ready` when all sockets are open; once they are closed, send what each received."""
    line.send(asyncio.run(_watch(address, cookie, count, line)))


async def _watch(address: str, cookie: str, count: int, line: Connection) -> list[tuple[dict, dict, int, int]]:
    from websockets.asyncio.client import connect  # imported late: --help must not need it

    headers = {"Cookie": cookie}
    origin = address.replace("ws://", "http://").split("/ws/")[0]
    # no limit on size, as in browsers
    sockets = [await connect(address, additional_headers=headers, origin=origin, max_size=None) for _ in range(count)]
    for socket in sockets:
        await socket.send(json.dumps({"t": "follow"}))
    listening = [asyncio.create_task(_listen(socket)) for socket in sockets]
    line.send("ready")
    heard = []
    for came in await asyncio.gather(*listening):
        told = Heard()
        for message, now in came:
            told.note(message, now)
        heard.append((dict(told.seqs), dict(told.at_ns), told.messages, told.bytes))
    return heard


async def _listen(socket: ClientConnection) -> list[tuple[str, int]]:
    return [(str(message), time.perf_counter_ns()) async for message in socket]
