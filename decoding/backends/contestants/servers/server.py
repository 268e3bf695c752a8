"""Server: one endpoint that is being asked, over HTTP/1.1, for answers that stream. It keeps connections for the next
request, follows no redirect, and connects only to addresses that the guard allows. httpcore2 speaks HTTP. The
connections are ours: they time bytes as these come.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import ssl
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import httpcore2

from decoding.backends.contestants.servers.dialects import dialect_called
from decoding.backends.contestants.servers.dialects.base import LONGEST_DRAFT, Dialect, counters, whole
from decoding.backends.contestants.servers.endpoint import CERTIFICATES, EndpointSpec, Reach
from decoding.backends.contestants.servers.guard import Allowed
from decoding.backends.contestants.servers.words import Words
from decoding.errors import BadServer, DrafthouseError, ServerFailed

LONGEST_NAME = 500  # characters of a model's
CONNECT_S = 10.0
SILENCE_S = 120.0  # the longest time without a byte
LARGEST_ANSWER = 16 * 1024 * 1024  # bytes of an answer, or of an event of one that streams: some repeat the prompt
LIMITS = {"timeout": {"connect": CONNECT_S, "read": SILENCE_S, "write": SILENCE_S}}

Read = tuple[int, bytes]  # when bytes came, by `perf_counter_ns`, and the bytes


@dataclass(frozen=True, slots=True)
class Head:
    """Status and headers of an answer. Names of headers are in lower case."""

    status: int
    reason: str
    headers: Mapping[str, str]


class ServerConnection(httpcore2.AsyncNetworkStream):
    """Connection to a server. It remembers when the last bytes came."""

    def __init__(self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._name, self._reader, self._writer = name, reader, writer
        self.at_ns = 0

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            async with asyncio.timeout(timeout):
                came = await self._reader.read(max_bytes)
        except TimeoutError:
            raise ServerFailed(f"{self._name} sent nothing for {timeout:g} s.") from None
        except OSError as error:
            raise httpcore2.ReadError(error.strerror or str(error)) from error
        self.at_ns = perf_counter_ns()
        return came

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        try:
            async with asyncio.timeout(timeout):
                self._writer.write(buffer)
                await self._writer.drain()
        except OSError as error:  # TimeoutError too
            raise httpcore2.WriteError(error.strerror or str(error)) from error

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> ServerConnection:
        try:
            async with asyncio.timeout(timeout):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except OSError as error:
            await self.aclose()
            raise ServerFailed(f"{self._name} {no_tls(error)}") from None
        return self

    async def aclose(self) -> None:
        self._writer.transport.abort()  # at once: nobody waits for what is still on its way

    def get_extra_info(self, info: str) -> Any:
        return self._reader.at_eof() if info == "is_readable" else None


class GuardedNetwork(httpcore2.AsyncNetworkBackend):
    """Connects to one server, if the guard allows its address."""

    def __init__(self, spec: EndpointSpec, allowed: Allowed) -> None:
        self._spec, self._allowed = spec, allowed

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> ServerConnection:
        why = "it has no address"
        try:
            async with asyncio.timeout(timeout):
                loop = asyncio.get_running_loop()
                for *_, (ip, *_) in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                    self._allowed.require(host, port, str(ip))
                    try:
                        return ServerConnection(self._spec.name, *await asyncio.open_connection(str(ip), port))
                    except OSError as error:
                        why = error.strerror or str(error)
        except TimeoutError:
            why = f"nothing answers within {timeout:g} s"
        except (socket.gaierror, UnicodeError):
            why = f"no address is known for {host}"
        place = self._spec.place
        raise ServerFailed(
            f"{self._spec.name} at {place.scheme}://{place.origin} cannot be reached: {why}. Is it running, and is the "
            "address right?"
        )


class Server:
    """One endpoint that is being asked. All its methods run in one event loop."""

    def __init__(self, spec: EndpointSpec, reach: Reach) -> None:
        self.spec = spec
        self.dialect: Dialect = dialect_called(spec.dialect)
        self.model = spec.model
        self.needs_counters = bool(self.dialect.metrics)
        key = reach.keys[spec.key] if spec.key else ""
        self.words = Words(key)
        self._headers = [
            ("Host", spec.place.origin),
            ("Accept", "text/event-stream, application/json, text/plain"),
            ("Accept-Encoding", "identity"),
            ("User-Agent", "drafthouse"),
            *([("Authorization", f"Bearer {key}")] if key else []),
        ]
        self._pool = httpcore2.AsyncConnectionPool(
            tls(reach.certificates) if spec.place.scheme == "https" else None,
            max_connections=None,
            network_backend=GuardedNetwork(spec, reach.allowed),
        )

    async def meet(self) -> None:
        """Ask what it serves. Refuse it if that is another model than the endpoint names."""
        head, raw = await self.get(self.dialect.lists)
        if head.status in (401, 403) or 300 <= head.status < 400:
            raise self.refusal(head)
        names = self._names(raw) if head.status == 200 else []
        if self.spec.model and names and self.spec.model not in names:
            raise BadServer(
                f"{self.spec.name} does not serve {self.spec.model!r}; it serves {', '.join(names)[:300]}. Name one of "
                "these as model, or leave it out."
            )
        self.model = self.spec.model or next(iter(names), "")

    def _names(self, raw: bytes) -> list[str]:
        try:
            listed = self.words.json(raw)
            return [name for name in self.dialect.names(listed) if 0 < len(name) <= LONGEST_NAME]
        except (ValueError, AttributeError, TypeError):
            return []

    async def counts(self) -> dict[str, float]:
        """The server's counters of speculative decoding; empty if it shows none."""
        if not self.needs_counters:
            return {}
        with suppress(DrafthouseError):
            head, raw = await self.get("/metrics")
            if head.status == 200:
                names = *self.dialect.metrics.values(), self.dialect.accepted_at
                return counters(raw.decode("utf-8", errors="replace"), names)
        self.needs_counters = False
        return {}

    def since(self, before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, Any]:
        """Subtract two readings of the counters, by our names. A server that was started anew in between gives None."""
        grown = {its: whole(after[its] - value) for its, value in before.items() if its in after}
        found = {ours: grown[its] for ours, its in self.dialect.metrics.items() if its in grown}
        at = [grown.get(f"{self.dialect.accepted_at} {position}") for position in range(LONGEST_DRAFT)]
        accepted = [count for count in itertools.takewhile(lambda count: count is not None, at) if count is not None]
        edges = [found.get("num_spec_steps") or 0, *accepted, 0]
        histogram = tuple(more - less for more, less in itertools.pairwise(edges))
        return {**found, "acceptance_histogram": histogram if accepted and min(histogram) >= 0 else ()}

    def refusal(self, head: Head, words: str = "") -> ServerFailed:
        """Explain an answer that is no 200."""
        name, status, told = self.spec.name, head.status, f"answered {head.status} {head.reason}."
        if status in (401, 403):
            key = "It wants a key: name one with key-file or key-env, or set it on the server's page."
            key = "Its key may have expired: set a new one." if self.spec.key else key
            told = f"refuses the request ({status}). {key}"
        elif 300 <= status < 400:
            told = f"answers with a redirect ({status}), which Drafthouse does not follow: give its real address."
        elif status in (404, 405):
            dialect = self.dialect
            told = f"has no {dialect.route} ({status}), so it is not {dialect.title}, or its address has another path."
        return ServerFailed(f"{name} {told} {words}".strip())

    async def close(self) -> None:
        await self._pool.aclose()

    def url(self, route: str) -> str:
        place = self.spec.place
        return f"{place.scheme}://{place.origin}{place.path}{route}"

    async def get(self, route: str) -> tuple[Head, bytes]:
        """Ask for a small answer."""
        async with self.ask(route) as (head, reads), aclosing(reads):
            answer = b""
            async for _, more in reads:
                answer += more
                if len(answer) > LARGEST_ANSWER:
                    raise ServerFailed(f"{self.spec.name} answers {route} with more than {LARGEST_ANSWER:,} bytes.")
            return head, answer

    @asynccontextmanager
    async def ask(
        self, route: str, body: bytes | None = None
    ) -> AsyncGenerator[tuple[Head, AsyncGenerator[Read, None]], None]:
        """Post a body, or get what has none. Yields the answer's head and its body as it comes in."""
        async with AsyncExitStack() as stack:
            response = await self._sent(stack, route, body)
            headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            reason = response.extensions["reason_phrase"].decode("latin-1")
            yield Head(response.status, self.words.plain(reason)[:80], headers), self._body(response, headers)

    async def _sent(self, stack: AsyncExitStack, route: str, body: bytes | None) -> httpcore2.Response:
        """Send on a kept connection if there is one, and on a new one if the server has just closed that."""
        headers = [*self._headers, *([("Content-Type", "application/json")] if body is not None else [])]
        while True:
            steps = list[str]()

            async def note(step: str, _: Any, steps: list[str] = steps) -> None:
                steps.append(step)

            asked = self._pool.stream(
                "GET" if body is None else "POST",
                self.url(route),
                headers=headers,
                content=body,
                extensions={**LIMITS, "trace": note},
            )
            try:
                return await stack.enter_async_context(asked)
            except (httpcore2.NetworkError, httpcore2.RemoteProtocolError) as error:
                if "connection.connect_tcp.started" in steps:
                    raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> ServerFailed:
        """Say why an answer cannot be read. httpcore's words may hold what the server sent."""
        told = self.words.plain(str(error))[:200]
        return ServerFailed(f"What {self.spec.name} answers is not HTTP/1.1, or not whole: {told}.")

    async def _body(self, response: httpcore2.Response, headers: Mapping[str, str]) -> AsyncGenerator[Read, None]:
        if headers.get("content-encoding", "identity").lower() != "identity":
            raise ServerFailed(f"{self.spec.name} compresses its answers although it was asked not to.")
        connection = response.extensions["network_stream"]
        try:
            async with aclosing(response.aiter_stream()) as parts:
                async for part in parts:
                    yield connection.at_ns, part
        except (httpcore2.NetworkError, httpcore2.RemoteProtocolError) as error:
            raise self._unreadable(error) from error


class Events:
    """Finds whole server-sent events in a stream of bytes, wherever the bytes are cut. Lines end in LF or CRLF.
    Only `data` is read: no server of models uses the other fields."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, more: bytes) -> list[bytes]:
        """Return the data of each event that is complete now."""
        *lines, self._rest = (self._rest + more).split(b"\n")
        found = [data for line in lines if (data := self._line(line.removesuffix(b"\r"))) is not None]
        if len(self._rest) + self._size > LARGEST_ANSWER:
            raise ServerFailed(f"The server sent an event of more than {LARGEST_ANSWER:,} bytes, so it was cut off.")
        return found

    def _line(self, line: bytes) -> bytes | None:
        if not line:
            data, self._data, self._size = self._data, [], 0
            return b"\n".join(data) if data else None
        if line.startswith(b"data:"):
            self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            self._size += len(line)
        return None


def tls(file: str) -> ssl.SSLContext:
    """Trust the system's authorities, and those in the file if there is one."""
    context = ssl.create_default_context()
    try:
        if file:
            context.load_verify_locations(file)
    except (OSError, ssl.SSLError) as error:
        raise BadServer(
            f"{file} holds no certificates: {error.strerror or error}. Give a PEM file that this process can read."
        ) from None
    return context


def no_tls(error: OSError) -> str:
    """Say why there is no safe connection, and what to do. Nothing switches the check off."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        why = getattr(error, "reason", "") or error
        return f"cannot be reached over TLS: {why}. If it speaks plain HTTP, write its address with http://."
    return (
        f"cannot be trusted: {error.verify_message}. Replace the server's certificate, or give the address that it is "
        f"for. If an authority of your own signed it, name that authority's PEM file: {CERTIFICATES} in the "
        "environment of the command or of the service's workers."
    )
