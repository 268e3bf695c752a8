"""Connections that must keep moving, and how many there may be: real sockets against the real server."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import uvicorn
from websockets.sync.client import connect

from tests.kit.processes import until
from webapp.config.connections import Config, Limits
from webapp.config.server import configured, listen
from webapp.core.proxies import networks

PATIENCE = 300  # s; nothing here takes that long, it only keeps a failure from hanging
SHORT = Limits(sending_s=0.3, bytes_per_s=10_000, reading_s=0.5, connections=6, connections_each=3)
MUCH = b"x" * 64 * 1024


async def read_all(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answers what it was sent; `/much` with more than any buffer holds; a socket with what it hears."""
    if scope["type"] == "websocket":
        return await converse(receive, send)
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(1000 if scope["path"] == "/much" else 0):
        await send({"type": "http.response.body", "body": MUCH, "more_body": True})
    await send({"type": "http.response.body", "body": body})


async def converse(receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})
    while (message := await receive())["type"] == "websocket.receive":
        if message["text"] == "much":
            for _ in range(1000):
                await send({"type": "websocket.send", "bytes": MUCH})
        await send({"type": "websocket.send", "text": message["text"]})


class Serving:
    """A server in a thread of its own, and how to reach it from any of this machine's addresses."""

    def __init__(self) -> None:
        self.config: Config = configured(read_all, SHORT)
        self.config.load()
        self.server = uvicorn.Server(self.config)
        listener = listen("127.0.0.1", 0)
        self.port = listener.getsockname()[1]
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [listener]})
        self.lines = ExitStack()

    def line(self, source: str = "127.0.0.1") -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port), PATIENCE, (source, 0))
        return self.lines.enter_context(made)


@pytest.fixture
def web(settings: Any) -> Iterator[Serving]:
    settings.PROXIES = networks(["127.0.0.5"])
    it = Serving()
    it.thread.start()
    try:
        with it.lines:
            yield it
    finally:
        it.server.should_exit = True
        it.thread.join(PATIENCE)


def everything(line: socket.socket) -> bytes:
    """Return everything that comes until the server closes."""
    came = b""
    try:
        while piece := line.recv(65536):
            came += piece
    except ConnectionResetError:
        pass
    return came


def asked(line: socket.socket) -> bytes:
    """The beginning of the answer to a request. The line then stays open without owing anything."""
    line.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    return line.recv(65536)


@pytest.mark.parametrize("said", [b"GET /a-", b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"])
def test_who_does_not_finish_its_headers_or_its_body_is_told_so_and_cut_off(web, said):
    line = web.line()
    assert asked(line).startswith(b"HTTP/1.1 200 ")
    line.sendall(said)  # a second request has its own time
    assert b"HTTP/1.1 408 " in everything(line)


def test_who_says_nothing_is_cut_off_and_headers_that_drip_gain_no_time(web):
    assert everything(web.line()).startswith(b"HTTP/1.1 408 ")
    line = web.line()
    dripping = threading.Event()

    def drip() -> None:
        while not dripping.wait(0.05):
            try:
                line.send(b"X-A: b\r\n")
            except OSError:
                return

    line.sendall(b"GET / HTTP/1.1\r\n")
    thread = threading.Thread(target=drip)
    thread.start()
    try:
        assert everything(line).startswith(b"HTTP/1.1 408 ")
    finally:
        dripping.set()
        thread.join()


def test_a_long_body_that_keeps_coming_has_the_time_it_takes(web):
    """It takes several times as long as one that does not come."""
    line, piece, count = web.line(), b"x" * 5_000, 30
    line.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (len(piece) * count))
    pause = threading.Event()
    for _ in range(count):
        line.sendall(piece)
        pause.wait(0.03)
    answer = b""
    while len(answer) < len(piece) * count:
        got = line.recv(65536)
        assert got, answer[:200]
        answer += got
    assert answer.startswith(b"HTTP/1.1 200 ")


def test_who_reads_nothing_of_a_long_answer_is_cut_off_socket_or_not(web):
    line = web.line()
    line.sendall(b"GET /much HTTP/1.1\r\nHost: x\r\n\r\n")
    until(lambda: not web.config.by_address, "the end of the line")
    line = web.line()
    line.sendall(
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    assert line.recv(65536).startswith(b"HTTP/1.1 101 ")
    line.sendall(b"\x81\x84\0\0\0\0much")  # a text, masked with zeros
    until(lambda: not web.config.by_address, "the end of the line")


def test_a_proxy_may_have_more_connections_than_one_client(web):
    for _ in range(SHORT.connections_each + 1):
        assert asked(web.line("127.0.0.5")).startswith(b"HTTP/1.1 200 ")


def test_one_address_has_only_so_many_connections_and_all_together_too(web):
    for source in ("127.0.0.1",) * 3 + ("127.0.0.2", "127.0.0.3"):
        assert asked(web.line(source)).startswith(b"HTTP/1.1 200 ")
    refused = everything(web.line())
    assert refused.startswith(b"HTTP/1.1 429 ") and b"retry-after: 10" in refused
    until(lambda: web.config.by_address.total() == 5, "the end of the refused line")
    assert asked(web.line("127.0.0.4")).startswith(b"HTTP/1.1 200 ")
    assert everything(web.line("127.0.0.9")).startswith(b"HTTP/1.1 503 ")


def test_a_socket_outlives_every_clock_of_a_request_and_leaves_room_for_another_when_it_ends(web):
    with connect(f"ws://127.0.0.1:{web.port}/", open_timeout=PATIENCE) as socket_:
        with pytest.raises(TimeoutError):
            socket_.recv(3 * SHORT.sending_s)
        socket_.send("still here")
        assert socket_.recv(PATIENCE) == "still here"
    until(lambda: not web.config.by_address, "the end of the line")
