"""The address that a request comes from. Only a proxy that the operator named may speak for others."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from django.core.exceptions import ImproperlyConfigured

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Scope = dict[str, Any]
FORWARDED = (b"x-forwarded-for", b"x-forwarded-proto", b"x-forwarded-host", b"x-forwarded-port", b"forwarded")
HOME = 64  # bits of an IPv6 address that a provider gives to one customer


def networks(texts: Iterable[str]) -> tuple[Network, ...]:
    """Return the networks that DRAFTHOUSE_PROXIES names."""
    try:
        return tuple(ip_network(text.strip(), strict=False) for text in texts if text.strip())
    except ValueError as error:
        raise ImproperlyConfigured(
            f"DRAFTHOUSE_PROXIES cannot be read: {error}. Write addresses or networks, such as 10.0.0.5,172.16.0.0/12."
        ) from None


def client_address(scope: Scope) -> str:
    """Return the address that limits count by. Of IPv6 it is the first 64 bits, because one client has all addresses
    below them."""
    client = scope.get("client")
    found = _parsed(client[0]) if client else None
    if isinstance(found, IPv6Address):
        return str(ip_network((found, HOME), strict=False))
    return str(found or "")


def address_of(request: Any) -> str:
    """Return the same for a request of Django's."""
    return client_address({"client": (request.META.get("REMOTE_ADDR", ""), 0)})


def is_in(address: Address | None, trusted: Sequence[Network]) -> bool:
    return address is not None and any(address in network for network in trusted)


def is_proxy(peer: str, trusted: Sequence[Network]) -> bool:
    return is_in(_parsed(peer), trusted)


class BehindProxies:
    """Corrects client, scheme and host of a request that a trusted proxy passes on.

    The headers that say so are removed from every request, so that nothing behind this can believe a stranger's.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], *, trusted: Sequence[Network], https: bool = False) -> None:
        self.app, self.trusted, self.https = app, trusted, https

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] in ("http", "websocket"):
            scope = self._corrected(scope)
        await self.app(scope, receive, send)

    def _corrected(self, scope: Scope) -> Scope:
        headers = [(name, value) for name, value in scope["headers"] if name not in FORWARDED]
        client = scope.get("client")
        peer = _parsed(client[0]) if client else None
        secure = self.https
        if client and peer is not None:
            client = (str(peer), client[1])
        if is_in(peer, self.trusted):
            client = (str(self._origin(peer, _list(scope, b"x-forwarded-for"))), 0)
            if protocol := _list(scope, b"x-forwarded-proto")[-1:]:
                secure = protocol[0].lower() in ("https", "wss")
            if host := _list(scope, b"x-forwarded-host")[-1:]:
                headers = [(name, value) for name, value in headers if name != b"host"]
                headers.append((b"host", host[0].encode("latin-1")))
        scheme = _SCHEMES[scope["type"], secure] if secure or is_in(peer, self.trusted) else scope.get("scheme", "http")
        return {**scope, "client": client, "scheme": scheme, "headers": headers}

    def _origin(self, peer: Address | None, hops: list[str]) -> Address | None:
        """Return the right-most address that is none of our proxies. Anybody may have written the addresses to its
        left."""
        found = peer
        for hop in reversed(hops):
            address = _parsed(hop)
            if address is None:
                break
            found = address
            if not is_in(address, self.trusted):
                break
        return found


_SCHEMES = {("http", False): "http", ("http", True): "https", ("websocket", False): "ws", ("websocket", True): "wss"}


def _list(scope: Scope, wanted: bytes) -> list[str]:
    """Return all values of a header, which may come several times and hold several values with commas."""
    text = b",".join(value for name, value in scope["headers"] if name == wanted).decode("latin-1")
    return [part for part in (part.strip() for part in text.split(",")) if part]


def _parsed(text: str) -> Address | None:
    """Parse an address, which may have a port. An IPv4 address inside an IPv6 one counts as IPv4."""
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text)
    except ValueError:
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found
