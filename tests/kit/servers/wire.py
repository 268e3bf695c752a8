"""A server of ours that speaks the wire format of a real one, as its documents give it. No model is behind it: a script
says what it answers."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Piece = bytes | Callable[[], object]  # bytes to send, or what to wait for before the next


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    pieces: Sequence[Piece] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    is_torn: bool = False  # the connection ends before the answer does


Script = Callable[[Asked], Reply]


def events(*data: Any) -> list[Piece]:
    """Server-sent events, each sent by itself."""
    return [b"data: " + (one.encode() if isinstance(one, str) else json.dumps(one).encode()) + b"\n\n" for one in data]


def plain(data: Any) -> Reply:
    return Reply([json.dumps(data).encode()])


def altered(script: Script, usual: str, odd: str) -> Script:
    """Script whose answers hold other words in the place of the usual ones."""

    def answer(asked: Asked) -> Reply:
        reply = script(asked)
        found = [one.replace(usual.encode(), odd.encode()) if isinstance(one, bytes) else one for one in reply.pieces]
        return replace(reply, pieces=found)

    return answer


@dataclass
class Wire:
    address: str
    asked: list[Asked]
    connections: set[Any]

    def sent(self, path: str) -> list[Any]:
        """Bodies of the requests to a route."""
        return [one.body for one in self.asked if one.path == path]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length)) if length else None
        asked = Asked(self.command, self.path, dict(self.headers), body)
        self.server.asked.append(asked)
        self.server.connections.add(self.client_address)
        self._send(self.server.script(asked))

    do_POST = do_GET

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in {"Transfer-Encoding": "chunked", **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in reply.pieces:
            if callable(piece):
                piece()
            else:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.wfile.flush()
        self.close_connection = reply.is_torn
        if not reply.is_torn:
            self.wfile.write(b"0\r\n\r\n")

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, ssl.SSLError):  # the client has gone
            self.close_connection = True

    def log_message(self, *words: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def __init__(self, script: Script, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.script = script
        self.asked: list[Asked] = []
        self.connections: set[Any] = set()


@contextmanager
def serving(script: Script, tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[Wire]:
    server = _Server(script, port)
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield Wire(f"http{'s' * bool(tls)}://127.0.0.1:{server.server_port}", server.asked, server.connections)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
