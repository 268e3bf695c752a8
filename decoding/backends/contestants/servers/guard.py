"""Guard: which addresses may be reached. It judges the IP address that is connected to, so names, redirects, odd
spellings and a name that changes its address cannot get past it. Standard library only.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from decoding.errors import BadServer

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# IPv6 networks whose addresses carry an IPv4 address: NAT64, and its local form.
CARRIERS = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))


@dataclass(frozen=True, slots=True)
class Rule:
    """One entry of an allow-list: a network or a host name, on one port or on all."""

    network: Network | None
    host: str
    port: int | None

    def holds(self, host: str, port: int, address: Address) -> bool:
        if self.port not in (None, port):
            return False
        if self.network is None:
            return self.host == host.lower().rstrip(".")
        return address.version == self.network.version and address in self.network


@dataclass(frozen=True, slots=True)
class Allowed:
    """The addresses that may be reached: those that a rule names, or all ordinary ones."""

    rules: tuple[Rule, ...] = ()
    all_ordinary: bool = False  # loopback and private networks included: for the terminal, where the user is the owner

    def require(self, host: str, port: int, ip: str) -> None:
        """Refuse an address that may not be reached. Call it with the address that is connected to."""
        for address in _meanings(ip):
            if why := _never(address):
                raise BadServer(f"{host} is at {address}, {why}, which Drafthouse never connects to.")
            if not self._allows(host, port, address):
                raise BadServer(
                    f"{host}, port {port}, is at {address}, which the operator does not allow. The operator can add "
                    "the host or its network to DRAFTHOUSE_SERVERS."
                )

    def require_written(self, host: str, port: int) -> None:
        """Refuse what shows before anybody asks for the host's address: nothing is allowed, or the host is an address
        that is not."""
        if not (self.rules or self.all_ordinary):
            raise BadServer("The operator allows no servers. DRAFTHOUSE_SERVERS lists those that may be asked.")
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return
        self.require(host, port, host)

    def _allows(self, host: str, port: int, address: Address) -> bool:
        if self.all_ordinary:
            return True
        named = [rule for rule in self.rules if rule.holds(host, port, address)]
        if address.is_loopback:  # a name that anybody owns may point here
            return any(rule.network is not None or rule.host == "localhost" for rule in named)
        return bool(named)


NOWHERE = Allowed()
TERMINAL = Allowed(all_ordinary=True)


def allowed(entries: Iterable[str]) -> Allowed:
    """Read an allow-list: `10.0.0.0/8`, `vllm.internal:8000`, `[::1]:8080`, `192.0.2.7`."""
    return Allowed(tuple(_rule(entry.strip()) for entry in entries if entry.strip()))


def _rule(entry: str) -> Rule:
    host, port = _split(entry)
    try:
        return Rule(ipaddress.ip_network(host), "", port)
    except ValueError:
        if "/" in host or not host or not all(part.replace("-", "").isalnum() for part in host.rstrip(".").split(".")):
            raise BadServer(
                f"{entry[:80]!r} is not an entry for the allow-list of servers: write a host name, an address or a "
                "network, and a port if only that is allowed, as in vllm.internal:8000 or 10.0.0.0/8."
            ) from None
    return Rule(None, host.lower().rstrip("."), port)


def _split(entry: str) -> tuple[str, int | None]:
    """Split off the port. An IPv6 address with a port stands in brackets."""
    if entry.startswith("["):
        host, _, rest = entry[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, colon, port = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
        host = host if colon else entry
    if port and not (port.isascii() and port.isdigit() and 0 < int(port) < 65_536):
        raise BadServer(f"{entry[:80]!r} in the allow-list of servers has the port {port[:20]!r}, which is none.")
    return host, int(port) if port else None


def _meanings(ip: str) -> Sequence[Address]:
    """Return the address, and the IPv4 address that it carries if it is an IPv6 address that does."""
    address = ipaddress.ip_address(ip.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped:  # the machine connects to the IPv4 address itself
        return [address.ipv4_mapped]
    carried = [address.sixtofour, *(address.teredo or ())]
    if any(address in network for network in CARRIERS):
        carried.append(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return [address, *(inner for inner in carried if inner)]


def _never(address: Address) -> str:
    """Say why an address is never connected to; empty if it may be. Cloud machines keep their secrets at 169.254."""
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast:
        return "a multicast address"
    if address.is_unspecified:
        return "no machine's address"
    is_carrier = isinstance(address, ipaddress.IPv6Address) and any(address in network for network in CARRIERS)
    if address.is_reserved and not address.is_loopback and not is_carrier:  # Python calls ::1 and NAT64 reserved too
        return "a reserved address"
    return ""
