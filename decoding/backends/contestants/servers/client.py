"""Client: HTTP/1.1 over asyncio for answers that stream. It keeps connections for the next request, follows no
redirect, and connects only to addresses that the guard allows. Standard library only.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from time import perf_counter_ns

from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach
from decoding.backends.contestants.servers.tls import no_tls, tls
from decoding.backends.contestants.servers.words import Words
from decoding.errors import ServerFailed

CONNECT_S = 10.0
SILENCE_S = 120.0  # the longest time without a byte
READ = 1 << 16
LARGEST_HEAD = 1 << 16
MOST_DIGITS = 18  # of an answer's length
LARGEST_ANSWER = 16 * 1024 * 1024  # bytes of an answer that does not stream

HEX = re.compile(b"[0-9A-Fa-f]{1,16}")

Read = tuple[int, bytes]  # when bytes came, by `perf_counter_ns`, and the bytes


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers of an answer. Names of headers are in lower case."""

    status: int
    reason: str
    headers: Mapping[str, str]

    @property
    def keeps(self) -> bool:
        return "close" not in self.headers.get("connection", "").lower()


@dataclass(slots=True)
class Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    is_used: bool = False  # an earlier request came this way, so the server may have closed it since
    is_whole: bool = False  # the last answer was read to its end

    def close(self) -> None:
        self.writer.transport.abort()  # at once: nobody waits for what is still on its way


class Client:
    """Talks to one server. All its methods run in one event loop."""

    def __init__(self, spec: EndpointSpec, reach: Reach) -> None:
        self.spec = spec
        self.place = spec.place
        self._allowed = reach.allowed
        self._key = reach.key_of(spec.key) if spec.key else ""
        self.words = Words(self._key)
        self._tls = tls(spec.certificates, reach.certificates) if self.place.scheme == "https" else None
        self._idle: list[Connection] = []

    def close(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()

    def url(self, route: str) -> str:
        return f"{self.place.scheme}://{self.place.origin}{self.place.path}{route}"

    async def get(self, route: str) -> tuple[Head, bytes]:
        """Ask for a small answer."""
        return await self._small("GET", route, b"")

    async def post(self, route: str, body: bytes) -> tuple[Head, bytes]:
        return await self._small("POST", route, body)

    async def _small(self, method: str, route: str, body: bytes) -> tuple[Head, bytes]:
        async with self.ask(method, route, body) as (head, reads), aclosing(reads):
            answer = b""
            async for _, more in reads:
                answer += more
                if len(answer) > LARGEST_ANSWER:
                    raise ServerFailed(f"{self.spec.name} answers {route} with more than {LARGEST_ANSWER:,} bytes.")
            return head, answer

    @asynccontextmanager
    async def ask(
        self, method: str, route: str, body: bytes
    ) -> AsyncGenerator[tuple[Head, AsyncGenerator[Read, None]], None]:
        """Send a request. Yields the answer's head and its body as it comes in."""
        connection, head = await self._sent(self._request(method, route, body))
        try:
            yield head, self._body(connection, head)
        finally:
            if connection.is_whole and head.keeps:
                self._idle.append(connection)
            else:
                connection.close()

    def _request(self, method: str, route: str, body: bytes) -> bytes:
        lines = [
            f"{method} {self.place.path}{route} HTTP/1.1",
            f"Host: {self.place.origin}",
            "Accept: text/event-stream, application/json, text/plain",
            "Accept-Encoding: identity",
            "User-Agent: drafthouse",
            *([f"Authorization: Bearer {self._key}"] if self._key else []),
            *(["Content-Type: application/json", f"Content-Length: {len(body)}"] if method == "POST" else []),
        ]
        return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body

    async def _sent(self, request: bytes) -> tuple[Connection, Head]:
        """Send on a kept connection if there is one, and on a new one if the server has closed that."""
        while True:
            connection = self._idle.pop() if self._idle else await self._connect()
            try:
                connection.is_whole = False
                connection.writer.write(request)
                await connection.writer.drain()
                head = await self._head(connection.reader)
            except (OSError, asyncio.IncompleteReadError) as error:
                connection.close()
                if not connection.is_used:
                    raise ServerFailed(f"{self.spec.name} closed the connection without an answer.") from error
            except BaseException:
                connection.close()
                raise
            else:
                connection.is_used = True
                return connection, head

    async def _connect(self) -> Connection:
        place, errors = self.place, []
        try:
            async with asyncio.timeout(CONNECT_S):
                loop = asyncio.get_running_loop()
                found = await loop.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)
                for *_, address in found:
                    self._allowed.require(place.host, place.port, str(address[0]))
                    try:
                        reader, writer = await asyncio.open_connection(
                            str(address[0]), place.port, ssl=self._tls,
                            server_hostname=place.host if self._tls else None, limit=LARGEST_HEAD,
                        )  # fmt: skip
                    except ssl.SSLError:
                        raise
                    except OSError as error:
                        errors.append(error)
                    else:
                        return Connection(reader, writer)
        except TimeoutError:
            raise self._unreachable(f"nothing answers within {CONNECT_S:g} s") from None
        except (socket.gaierror, UnicodeError):
            raise self._unreachable(f"no address is known for {place.host}") from None
        except ssl.SSLError as error:
            raise ServerFailed(f"{self.spec.name} {no_tls(error)}") from None
        raise self._unreachable(errors[0].strerror or str(errors[0]) if errors else "it has no address")

    def _unreachable(self, why: str) -> ServerFailed:
        place = self.place
        return ServerFailed(
            f"{self.spec.name} at {place.scheme}://{place.origin} cannot be reached: {why}. Is it running, and is the "
            "address right?"
        )

    async def _head(self, reader: asyncio.StreamReader) -> Head:
        while True:
            try:
                async with asyncio.timeout(SILENCE_S):
                    head = _head_of(await reader.readuntil(b"\r\n\r\n"), self.words)
            except TimeoutError:
                raise ServerFailed(f"{self.spec.name} sent nothing for {SILENCE_S:g} s.") from None
            except (asyncio.LimitOverrunError, ValueError):
                raise ServerFailed(f"What answers at {self.spec.name}'s address does not speak HTTP/1.1.") from None
            if head.status >= 200:
                return head

    async def _body(self, connection: Connection, head: Head) -> AsyncGenerator[Read, None]:
        if head.headers.get("content-encoding", "identity").lower() != "identity":
            raise ServerFailed(f"{self.spec.name} compresses its answers although it was asked not to.")
        framing = _framing(head)
        while not framing.is_over:
            try:
                async with asyncio.timeout(SILENCE_S):
                    raw = await connection.reader.read(READ)
            except TimeoutError:
                raise ServerFailed(f"{self.spec.name} fell silent for {SILENCE_S:g} s in its answer.") from None
            except OSError as error:
                raise ServerFailed(f"{self.spec.name} broke the connection in its answer.") from error
            at = perf_counter_ns()
            if not raw:
                if framing.ends_with_connection:
                    return
                raise ServerFailed(f"{self.spec.name} closed the connection in the middle of its answer.")
            if body := framing.feed(raw):
                yield at, body
        connection.is_whole = not framing.ends_with_connection


def _head_of(raw: bytes, words: Words) -> Head:
    first, *lines = raw.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    status, _, reason = rest.partition(" ")
    if not version.startswith("HTTP/1.") or len(status) != 3 or not _is_number(status):
        raise ValueError(first)
    pairs = (line.partition(":") for line in lines if ":" in line)
    return Head(
        int(status), words.plain(reason)[:80], {name.strip().lower(): value.strip() for name, _, value in pairs}
    )


class Framing:
    """Finds where an answer ends. This one ends with the connection."""

    ends_with_connection = True
    is_over = False

    def feed(self, raw: bytes) -> bytes:
        return raw


class Counted(Framing):
    """Ends after as many bytes as the head says."""

    ends_with_connection = False

    def __init__(self, length: int) -> None:
        self._left = length
        self.is_over = length == 0

    def feed(self, raw: bytes) -> bytes:
        body = raw[: self._left]
        self._left -= len(body)
        self.is_over = self._left == 0
        return body


class Chunked(Framing):
    """Takes chunks apart, wherever the bytes are cut."""

    ends_with_connection = False

    def __init__(self) -> None:
        self._rest = b""
        self._left = 0  # bytes of the chunk that is being read, with the line end behind it
        self._is_last = False

    def feed(self, raw: bytes) -> bytes:
        data, parts = self._rest + raw, []
        while data:
            if self._left > 2:
                part = data[: self._left - 2]
                parts.append(part)
                data, self._left = data[len(part) :], self._left - len(part)
            elif self._left:
                skipped = min(self._left, len(data))
                data, self._left = data[skipped:], self._left - skipped
            else:
                line, found, rest = data.partition(b"\r\n")
                if not found:
                    break
                data = rest
                self._line(line)
                if self.is_over:
                    break
        self._rest = data
        if len(data) > LARGEST_HEAD:
            raise ServerFailed("The server's answer cannot be read: a chunk's length goes on without end.")
        return b"".join(parts)

    def _line(self, line: bytes) -> None:
        if self._is_last:  # a trailer, or the empty line that ends it all
            self.is_over = not line
            return
        length = line.partition(b";")[0].strip()
        if not HEX.fullmatch(length):
            raise ServerFailed("The server's answer cannot be read: a chunk has no length.")
        size = int(length, 16)
        self._is_last = size == 0
        self._left = size + 2 if size else 0


def _framing(head: Head) -> Framing:
    if "chunked" in head.headers.get("transfer-encoding", "").lower():
        return Chunked()
    length = head.headers.get("content-length")
    if length is None:
        return Framing()
    if not _is_number(length):
        raise ServerFailed("The server's answer cannot be read: its length is not a number.")
    return Counted(int(length))


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS
