"""Wherever an address names the page to go on with, that page is one of ours."""

from __future__ import annotations

from urllib.parse import urlencode

from django.core.cache import cache
from django.db import transaction

from tests.kit.addresses import address, routes
from tests.kit.everything import one_of_everything


def test_no_address_of_a_page_sends_anybody_elsewhere(world):
    things, onward = one_of_everything(world), "/\\evil.example/"
    asked = {name: onward for name in ("next", "back", "return", "url", "redirect_to")}
    for client in (world.page(None), world.page(world.alice)):
        client.raise_request_exception = False
        for method, pattern in routes():
            path = address(pattern, things)
            if path.startswith("/api/"):
                continue
            cache.clear()
            with transaction.atomic():
                sent = {"data": asked} if method == "POST" else {}
                answer = getattr(client, method.lower())(f"{path}?{urlencode(asked)}", **sent, HTTP_REFERER=onward)
                transaction.set_rollback(True)
            where = answer.get("Location", "/")
            assert answer.status_code < 500, f"{method} {path}"
            assert where.startswith("/") and not where.startswith(("//", "/\\")), f"{method} {path} {where!r}"
            assert answer.status_code != 302 or "evil" not in where.partition("?")[0]


def test_only_a_page_of_ours_is_gone_on_with(world):
    client, ours = world.page(world.alice), "/jobs/?state=queued"
    for onward in ("home", "//evil.example/", "https://evil.example/", "/\n/evil.example", "/" + "x" * 5000):
        assert client.get("/sign-in/", {"next": onward})["Location"] == "/"
    assert client.get("/sign-in/", {"next": ours})["Location"] == ours
    assert client.post(f"/team/{world.team.pk}/switch/", {"next": ours})["Location"] == ours
