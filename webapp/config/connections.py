"""Connections with time limits: clients that send or read too slowly are cut off, and nobody has too many of them.

uvicorn waits for ever for headers, for bodies and for clients that do not read, and its own limit counts requests.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from webapp.core.proxies import client_address


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits: how slow a client may be, and how many connections may be open."""

    sending_s: float = 20.0  # for a request, and a second more for each `bytes_per_s` that came
    bytes_per_s: int = 8 * 1024
    reading_s: float = 30.0  # while the client reads nothing of what was sent to it
    connections: int = 2000
    connections_each: int = 256  # per address; a trusted proxy may have all of them


class Config(uvicorn.Config):
    def __init__(self, app: Any, *, limits: Limits, is_proxy: Callable[[str], bool], **options: Any) -> None:
        super().__init__(app, http=Http, ws=Socket, **options)
        self.limits, self.is_proxy = limits, is_proxy
        self.by_address: Counter[str] = Counter()  # open connections


class _Reading:
    """A connection that ends while its client reads nothing of what was sent to it. Its end is counted."""

    config: Any
    client: Any
    loop: asyncio.AbstractEventLoop
    transport: Any
    _stalled: asyncio.TimerHandle | None = None

    @property
    def _address(self) -> str:
        return client_address({"client": self.client})

    def pause_writing(self) -> None:
        super().pause_writing()  # type: ignore[misc]
        self._stalled = self.loop.call_later(self.config.limits.reading_s, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()  # type: ignore[misc]
        _stop(self._stalled)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)  # type: ignore[misc]
        _stop(self._stalled)
        self.config.by_address.subtract([self._address])
        self.config.by_address += Counter()  # without those that are 0


class Socket(_Reading, WebSocketsSansIOProtocol):
    """A WebSocket. It was counted when it was still a request."""


class Http(_Reading, H11Protocol):
    """An HTTP connection with a timer for what its client has to send."""

    config: Any
    _clock: asyncio.TimerHandle | None = None  # runs while the client has to send something
    _since = 0.0
    _came = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.config.by_address[self._address] += 1
        is_proxy = self.client is not None and self.config.is_proxy(self.client[0])
        if self.config.by_address.total() > self.config.limits.connections:
            return self._end(b"503 Service Unavailable", b"retry-after: 10\r\n")
        if self.config.by_address[self._address] > self.config.limits.connections_each and not is_proxy:
            return self._end(b"429 Too Many Requests", b"retry-after: 10\r\n")
        self._set_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        _stop(self._clock)

    def data_received(self, data: bytes) -> None:
        self._came += len(data)
        super().data_received(data)
        self._set_clock()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._set_clock()

    def _set_clock(self) -> None:
        if self._is_owed() == (self._clock is not None):
            return
        _stop(self._clock)
        self._clock = None
        if self._is_owed():
            self._since, self._came = self.loop.time(), 0
            self._clock = self.loop.call_later(self.config.limits.sending_s, self._look_at_clock)

    def _is_owed(self) -> bool:
        """Whether the client has to send headers or a body now. Between two requests uvicorn's own clock runs."""
        if self.transport.is_closing() or self.transport.get_protocol() is not self:  # it became a socket
            return False
        has_begun = self.cycle is None or bool(self.conn.trailing_data[0])
        return self.conn.their_state is h11.SEND_BODY or (self.conn.their_state is h11.IDLE and has_begun)

    def _look_at_clock(self) -> None:
        """Go on as long as enough came so far. Time in which we did not read does not count."""
        limits = self.config.limits
        left = self._since + limits.sending_s + self._came / limits.bytes_per_s - self.loop.time()
        if left <= 0 and not self.flow.read_paused:
            return self._time_out()
        self._clock = self.loop.call_later(left if left > 0 else 1.0, self._look_at_clock)

    def _time_out(self) -> None:
        if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
            return self.transport.abort()
        self._end(b"408 Request Timeout", b"")

    def _end(self, status: bytes, headers: bytes) -> None:
        self.transport.write(b"HTTP/1.1 %b\r\n%bcontent-length: 0\r\nconnection: close\r\n\r\n" % (status, headers))
        self.transport.close()


def _stop(clock: asyncio.TimerHandle | None) -> None:
    if clock is not None:
        clock.cancel()
