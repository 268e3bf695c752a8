"""Only a proxy that the operator named may say who sent a request, how, and to which host. Rate limits count by
that."""

from __future__ import annotations

import asyncio
import threading
import uuid
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from webapp.core.limits import Limit
from webapp.core.problems import TooMany
from webapp.core.proxies import BehindProxies, client_address, networks

PROXY, OTHER_PROXY, CLIENT, LIAR = "10.0.0.1", "10.0.0.2", "203.0.113.7", "198.51.100.66"


def seen(peer: str, *headers: tuple[str, str], kind: str = "http", https: bool = False):
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
    app = BehindProxies(application, trusted=networks(["10.0.0.0/24"]), https=https)
    asyncio.run(app(scope, None, None))
    return scopes[0]


def for_(*hops: str) -> tuple[str, str]:
    return "x-forwarded-for", ", ".join(hops)


@pytest.mark.parametrize("peer", [LIAR, "127.0.0.1"])
def test_nobody_else_is_believed_and_loopback_is_nobody_special(peer):
    scope = seen(peer, for_(CLIENT), ("x-forwarded-proto", "https"), ("x-forwarded-host", "evil.example"))
    assert (scope["client"][0], scope["scheme"], scope["headers"]) == (peer, "http", [(b"host", b"inside")])


@pytest.mark.parametrize(
    ("peer", "headers", "client"),
    [
        (PROXY, [for_(PROXY, LIAR, CLIENT, OTHER_PROXY, PROXY)], CLIENT),
        (PROXY, [for_(f"{CLIENT}:4711")], CLIENT),
        (PROXY, [for_("[2001:db8::7]:4711")], "2001:db8::7"),
        (PROXY, [for_(OTHER_PROXY)], OTHER_PROXY),
        (PROXY, [for_(CLIENT, "unknown", OTHER_PROXY)], OTHER_PROXY),
        (PROXY, [for_(LIAR), for_(CLIENT)], CLIENT),
        ("::ffff:10.0.0.1", [for_(f"::ffff:{CLIENT}")], CLIENT),
    ],
)
def test_the_right_most_address_that_is_no_proxy_is_the_client(peer, headers, client):
    assert seen(peer, *headers)["client"][0] == client


@pytest.mark.parametrize(("kind", "scheme"), [("http", "https"), ("websocket", "wss")])
def test_a_proxy_says_how_and_to_which_host_a_request_came(kind, scheme):
    scope = seen(PROXY, for_(CLIENT), ("x-forwarded-proto", "https"), ("x-forwarded-host", "lab.test"), kind=kind)
    assert (scope["scheme"], scope["headers"]) == (scheme, [(b"host", b"lab.test")])
    assert seen(CLIENT, kind=kind, https=True)["scheme"] == scheme  # where all come by TLS
    assert seen(PROXY, ("x-forwarded-proto", "http"), https=True)["scheme"] == "http"


def test_limits_count_by_address_and_of_ipv6_by_what_one_client_has():
    assert client_address({"client": (CLIENT, 5)}) == CLIENT
    assert client_address({"client": ("2001:db8:1:2:3:4:5:6", 5)}) == "2001:db8:1:2::/64"
    assert client_address({}) == ""
    with pytest.raises(ImproperlyConfigured, match=r"DRAFTHOUSE_PROXIES cannot be read.*Write addresses"):
        networks(["10.0.0.1", "nginx"])


def test_a_window_begins_with_its_first_try_and_ends_when_it_is_forgotten():
    who, limit = str(uuid.uuid4()), Limit("test", count=2, seconds=3600)
    limit.spend(who)
    limit.spend(who)
    with pytest.raises(TooMany, match="More than 2 tries in 60 min") as told:
        limit.spend(who)
    assert 3590 <= int(told.value.headers["Retry-After"]) <= 3600
    limit.spend(str(uuid.uuid4()))
    limit.forget(who)
    limit.spend(who)


def test_what_ends_well_does_not_count_and_those_who_try_at_the_same_time_are_counted_before_they_fail():
    who, limit = str(uuid.uuid4()), Limit("test", count=3, seconds=3600)
    for _ in range(5):
        with limit.on_failure(who):
            pass
    inside = threading.Barrier(4)
    refused = []

    def attempt() -> None:
        try:
            with pytest.raises(KeyError), limit.on_failure(who):
                inside.wait(300)
                raise KeyError
        except TooMany:
            refused.append(1)
            inside.wait(300)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == [1]
    with pytest.raises(TooMany):
        limit.spend(who)
