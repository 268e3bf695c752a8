"""Wherever an address names the page to go on with, that page is one of ours."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.core.cache import cache
from django.db import transaction

from tests.kit.addresses import address, routes
from tests.kit.everything import one_of_everything


@pytest.mark.parametrize("onward", ["/\\evil.example/", "https://evil.example/"])
def test_no_address_of_a_page_sends_anybody_elsewhere(world, onward):
    things = one_of_everything(world)
    asked = {name: onward for name in ("next", "back", "return", "url", "redirect_to")}
    for client in (world.page(None), world.page(world.alice)):
        client.raise_request_exception = False
        for method, pattern in routes():
            path = address(pattern, things)
            if path.startswith("/api/"):
                continue
            cache.clear()
            with transaction.atomic():
                query = f"{path}?{urlencode(asked)}"
                sent = {"data": asked} if method == "POST" else {}
                answer = getattr(client, method.lower())(query, **sent, headers={"Referer": onward.strip() or "x"})
                transaction.set_rollback(True)
            where = answer.get("Location", "/")
            assert answer.status_code < 500, f"{method} {path} {onward!r}"
            assert where.startswith("/") and not where.startswith(("//", "/\\")), f"{method} {path} {where!r}"
            assert answer.status_code != 302 or "evil" not in where.partition("?")[0]


@pytest.mark.parametrize("onward", ["home", "//evil.example/", "/\n/evil.example", "/" + "x" * 5000])
def test_what_is_no_page_of_ours_is_not_gone_on_with(world, onward):
    assert world.page(world.alice).get("/sign-in/", {"next": onward})["Location"] == "/"


def test_a_page_of_ours_is_gone_on_with(world):
    onward = "/jobs/?state=queued"
    assert world.page(world.alice).get("/sign-in/", {"next": onward})["Location"] == onward
    switched = world.page(world.alice).post(f"/team/{world.team.pk}/switch/", {"next": onward})
    assert switched["Location"] == onward
