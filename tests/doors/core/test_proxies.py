"""Only a proxy that the operator named may say who sent a request, how, and to which host."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from webapp.core.proxies import BehindProxies, client_address, networks

PROXY, OTHER_PROXY, CLIENT, LIAR = "10.0.0.1", "10.0.0.2", "203.0.113.7", "198.51.100.66"


def seen(peer: str, *headers: tuple[str, str], kind: str = "http", trusted: str = "10.0.0.0/24", https: bool = False):
    """The scope that the application is called with."""
    scopes: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        scopes.append(scope)

    scope = {
        "type": kind,
        "client": (peer, 5),
        "scheme": "http" if kind == "http" else "ws",
        "headers": [(b"host", b"inside"), *((name.encode(), value.encode()) for name, value in headers)],
    }
    app = BehindProxies(application, trusted=networks(trusted.split(",")), https=https)
    asyncio.run(app(scope, None, None))
    return scopes[0]


def for_(*hops: str) -> tuple[str, str]:
    return "x-forwarded-for", ", ".join(hops)


@pytest.mark.parametrize("peer", [LIAR, "127.0.0.1"])
def test_nobody_else_is_believed_and_loopback_is_nobody_special(peer):
    scope = seen(peer, for_(CLIENT), ("x-forwarded-proto", "https"), ("x-forwarded-host", "evil.example"))
    assert scope["client"][0] == peer
    assert scope["scheme"] == "http"
    assert scope["headers"] == [(b"host", b"inside")]


@pytest.mark.parametrize(
    ("hops", "client"),
    [
        ([PROXY, LIAR, CLIENT, OTHER_PROXY, PROXY], CLIENT),
        ([f"{CLIENT}:4711"], CLIENT),
        (["[2001:db8::7]:4711"], "2001:db8::7"),
        ([OTHER_PROXY], OTHER_PROXY),
        ([CLIENT, "unknown", OTHER_PROXY], OTHER_PROXY),
    ],
)
def test_the_right_most_address_that_is_no_proxy_is_the_client(hops, client):
    assert seen(PROXY, for_(*hops))["client"][0] == client


def test_a_header_that_comes_twice_is_one_list_and_ipv4_in_ipv6_the_same_address():
    assert seen(PROXY, for_(LIAR), for_(CLIENT))["client"][0] == CLIENT
    assert seen("::ffff:10.0.0.1", for_(f"::ffff:{CLIENT}"))["client"][0] == CLIENT


@pytest.mark.parametrize(("kind", "scheme"), [("http", "https"), ("websocket", "wss")])
def test_a_proxy_says_how_and_to_which_host_a_request_came(kind, scheme):
    scope = seen(PROXY, for_(CLIENT), ("x-forwarded-proto", "https"), ("x-forwarded-host", "lab.test"), kind=kind)
    assert scope["scheme"] == scheme
    assert scope["headers"] == [(b"host", b"lab.test")]


def test_where_all_come_by_tls_the_scheme_is_https_unless_a_proxy_says_otherwise():
    assert seen(CLIENT, https=True)["scheme"] == "https"
    assert seen(PROXY, ("x-forwarded-proto", "http"), https=True)["scheme"] == "http"


@pytest.mark.parametrize(
    ("client", "address"),
    [
        ((CLIENT, 5), CLIENT),
        (("2001:db8:1:2:3:4:5:6", 5), "2001:db8:1:2::/64"),
        (None, ""),
    ],
)
def test_limits_count_by_address_and_of_ipv6_by_what_one_client_has(client, address):
    assert client_address({"client": client}) == address


def test_what_is_no_address_is_refused_at_the_start():
    with pytest.raises(ImproperlyConfigured, match=r"DRAFTHOUSE_PROXIES cannot be read.*Write addresses"):
        networks(["10.0.0.1", "nginx"])
