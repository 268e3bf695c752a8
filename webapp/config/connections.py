"""Connections with time limits: clients that send or read too slowly are cut off, and no client has too many.

uvicorn waits for ever for headers, for bodies and for clients that do not read. These are its own two protocols, with a
timer for each.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from webapp.core.proxies import client_address

logger = logging.getLogger("drafthouse.connections")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits: how slow a client may be, and how many connections may be open."""

    header_s: float = 10.0  # for all headers of a request
    body_s: float = 20.0  # for a body, and a second more for each `body_bytes_per_s` that came
    body_bytes_per_s: int = 8 * 1024
    reading_s: float = 30.0  # while the client reads nothing of what was sent to it
    connections: int = 2000
    connections_each: int = 256  # per address; a trusted proxy may have all of them


class ConnectionCount:
    """Count of open connections, in all and by address."""

    def __init__(self, limits: Limits, is_proxy: Callable[[str], bool]) -> None:
        self.limits, self.is_proxy = limits, is_proxy
        self.by_address: Counter[str] = Counter()
        self.turned_away = 0

    def refusal(self, address: str, peer: str) -> bytes:
        """Return the status that refuses one more connection; empty if it is welcome."""
        if self.by_address.total() >= self.limits.connections:
            return b"503 Service Unavailable"
        if self.by_address[address] >= self.limits.connections_each and not self.is_proxy(peer):
            return b"429 Too Many Requests"
        return b""

    def enter(self, address: str) -> None:
        self.by_address[address] += 1

    def leave(self, address: str) -> None:
        self.by_address[address] -= 1
        if not self.by_address[address]:
            del self.by_address[address]

    def note_turned_away(self, status: bytes) -> None:
        """Log the 1st, 2nd, 4th, 8th … time, so that a flood of connections is no flood of lines."""
        self.turned_away += 1
        if self.turned_away & (self.turned_away - 1) == 0:
            logger.warning("turned a connection away (%s), the %d. since the start", status.decode(), self.turned_away)


class Config(uvicorn.Config):
    def __init__(self, app: Any, *, limits: Limits, is_proxy: Callable[[str], bool], **options: Any) -> None:
        super().__init__(app, http=Http, ws=Socket, **options)
        self.limits, self.crowd = limits, ConnectionCount(limits, is_proxy)


class _Reading:
    """A timer that runs while a client reads nothing of what was sent to it."""

    config: Any
    loop: asyncio.AbstractEventLoop
    transport: Any
    _stalled: asyncio.TimerHandle | None = None

    def pause_writing(self) -> None:
        super().pause_writing()  # type: ignore[misc]
        self._stalled = self.loop.call_later(self.config.limits.reading_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()  # type: ignore[misc]
        self._stop_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)  # type: ignore[misc]

    def _stop_clock(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None


class Socket(_Reading, WebSocketsSansIOProtocol):
    """A WebSocket. The crowd counted it when it was still a request."""

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.config.crowd.leave(client_address({"client": self.client}))


class Http(_Reading, H11Protocol):
    """An HTTP connection with a timer for what its client has to send next: headers, or a body."""

    config: Any
    _clock: asyncio.TimerHandle | None = None
    _timed: tuple[str, object] = ("", None)  # the phase that the clock runs for, and of which request
    _since = 0.0
    _came = 0
    _is_in = False

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._address = client_address({"client": self.client})
        if status := self.config.crowd.refusal(self._address, self.client[0] if self.client else ""):
            self.config.crowd.note_turned_away(status)
            return self._end(status, b"retry-after: 10\r\n")
        self._is_in = True
        self.config.crowd.enter(self._address)
        self._set_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._stop(self._clock)
        if self._is_in:
            self.config.crowd.leave(self._address)

    def data_received(self, data: bytes) -> None:
        self._came += len(data)
        super().data_received(data)
        self._set_clock()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set_clock()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self._stop(self._clock)
        self._timed = ("upgraded", None)
        super().handle_websocket_upgrade(event)

    def _set_clock(self) -> None:
        timed = (self._phase(), self.cycle)
        if timed == self._timed or self._timed[0] == "upgraded":
            return
        self._stop(self._clock)
        self._timed, self._since, self._came = timed, self.loop.time(), 0
        limits = self.config.limits
        if timed[0] == "header":
            self._clock = self.loop.call_later(limits.header_s, self._time_out)
        elif timed[0] == "body":
            self._clock = self.loop.call_later(limits.body_s, self._weigh_body)

    def _phase(self) -> str:
        """Name what the client has to send now. Between two requests uvicorn's own clock runs."""
        if self.transport.is_closing():
            return ""
        if self.conn.their_state is h11.IDLE and (self.cycle is None or self.conn.trailing_data[0]):
            return "header"
        return "body" if self.conn.their_state is h11.SEND_BODY else ""

    def _weigh_body(self) -> None:
        """Go on as long as the body came fast enough so far. Time in which we did not read does not count."""
        limits = self.config.limits
        left = self._since + limits.body_s + self._came / limits.body_bytes_per_s - self.loop.time()
        if left <= 0 and self.flow.read_paused:
            left = 1.0
        if left <= 0:
            return self._time_out()
        self._clock = self.loop.call_later(left, self._weigh_body)

    def _time_out(self) -> None:
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            return self.transport.abort()
        self._end(b"408 Request Timeout", b"")

    def _end(self, status: bytes, headers: bytes) -> None:
        self.transport.write(b"HTTP/1.1 %b\r\n%bcontent-length: 0\r\nconnection: close\r\n\r\n" % (status, headers))
        self.transport.close()

    @staticmethod
    def _stop(clock: asyncio.TimerHandle | None) -> None:
        if clock is not None:
            clock.cancel()
