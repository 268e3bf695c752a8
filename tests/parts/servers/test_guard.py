"""Which addresses may be reached, and endpoints that cannot be."""

from __future__ import annotations

import pytest

from decoding.backends.contestants.servers.endpoint import EndpointSpec
from decoding.backends.contestants.servers.guard import NOWHERE, TERMINAL, Allowed, allowed
from decoding.errors import BadServer

LISTED = allowed(["10.0.0.0/8", "vllm.internal:8000", "[2001:db8::]", "192.0.2.7:443", " ", "LLAMA.example."])
REACHED = [
    (LISTED, "10.1.2.3", 80, "10.1.2.3"),
    (LISTED, "vllm.internal", 8000, "172.16.0.9"),
    (LISTED, "VLLM.internal.", 8000, "203.0.113.4"),
    (LISTED, "odd", 9, "2001:db8::"),
    *((TERMINAL, "host", 80, ip) for ip in ("127.0.0.1", "::1", "192.168.1.9", "fd00::1", "8.8.8.8")),
    *(
        (allowed(entries), "localhost", 8080, "127.0.0.1")
        for entries in (["127.0.0.0/8"], ["localhost:8080"], ["[::1]:8080", "127.0.0.1"])
    ),
]


@pytest.mark.parametrize(("guard", "host", "port", "ip"), REACHED)
def test_a_listed_host_network_and_port_may_be_reached_and_from_a_terminal_all_that_is_ordinary(
    guard: Allowed, host: str, port: int, ip: str
) -> None:
    guard.require(host, port, ip)


@pytest.mark.parametrize(
    ("host", "port", "ip"),
    [
        ("vllm.internal", 22, "172.16.0.9"),  # another port
        ("vllm.internal", 8000, "127.0.0.1"),  # its owner points the name at us
        ("vllm.internal", 8000, "::ffff:127.0.0.1"),
        ("192.0.2.7", 80, "192.0.2.7"),
        ("nat64", 80, "64:ff9b::7f00:1"),  # 127.0.0.1 behind NAT64
        ("6to4", 80, "2002:7f00:1::"),
    ],
)
def test_all_other_addresses_are_refused(host: str, port: int, ip: str) -> None:
    with pytest.raises(BadServer, match="does not allow"):
        LISTED.require(host, port, ip)
    with pytest.raises(BadServer):
        NOWHERE.require(host, port, ip)


@pytest.mark.parametrize(
    "ip",
    ["169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "fe80::1%eth0", "::",
     "240.0.0.1"],
)  # fmt: skip
def test_some_addresses_are_never_reached_whatever_a_list_says(ip: str) -> None:
    for guard in (TERMINAL, allowed(["0.0.0.0/0", "::/0", "meta"])):
        with pytest.raises(BadServer, match="never connects to"):
            guard.require("meta", 80, ip)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ftp://host", "not a server's address"),
        ("http://user:pass@host", "holds a user or a password"),
        ("http://host:99999", "not a server's address"),
        ("http://host/?key=1", "holds more than a path"),
        ("http://host/\r\nX: 1", "no address can hold"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused(address: str, words: str) -> None:
    with pytest.raises(BadServer, match=words) as told:
        EndpointSpec("it", address, "vllm")
    assert "pass" not in str(told.value).replace("password", "")


def test_entries_and_names_are_checked_and_addresses_are_read_in_parts() -> None:
    for entry in ("10.0.0.0/40", "host:http", "http://host"):
        with pytest.raises(BadServer):
            allowed([entry])
    for name in ("", "a,b"):
        with pytest.raises(BadServer, match="not a name for a server"):
            EndpointSpec(name, "http://host", "vllm")
    assert EndpointSpec("it", "https://[::1]:8443/v/", "vllm").place.origin == "[::1]:8443"
    place = EndpointSpec("it", "https://api.example/prefix/", "vllm").place
    assert (place.origin, place.port, place.path) == ("api.example", 443, "/prefix")
    for route in ("/v1/", "/v1/chat/completions", ""):
        assert EndpointSpec("it", f"http://host/v1/gateway{route}", "vllm").address == "http://host/v1/gateway"
