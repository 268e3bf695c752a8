"""No cache stores anybody's data."""

from __future__ import annotations

from django.core.cache import cache
from django.db import transaction

from tests.kit.addresses import address, routes
from tests.kit.everything import one_of_everything
from webapp.sharing import services as sharing

PRIVATE = "private, no-store"


def test_no_answer_of_any_address_may_be_kept(world):
    things = one_of_everything(world)
    askers = {"nobody": world.api(None), "a stranger": world.api(world.charlie), "a member": world.api(world.alice)}
    for method, pattern in routes():
        for who, client in askers.items():
            client.raise_request_exception = False
            cache.clear()
            with transaction.atomic():
                answer = client.generic(method, address(pattern, things), b"{}", content_type="application/json")
                transaction.set_rollback(True)
            assert answer["Cache-Control"] == PRIVATE, f"{method} {pattern.name} for {who}"


def test_neither_may_shared_pages_and_refusals(world):
    comparison = one_of_everything(world)["comparison"]
    _, secret = sharing.share(comparison=comparison, days=1, hides_texts=True, by=world.actor(world.alice))
    for client in (world.page(None), world.page(world.alice)):
        for path in (
            f"/shared/{secret}/",
            "/shared/unknown/",
            "/nothing-here/",
            "/api/v1/nothing-here/",
            "/comparisons",
        ):
            assert client.get(path)["Cache-Control"] == PRIVATE, path
        assert client.get("/sign-in/", headers={"Host": "evil.example"})["Cache-Control"] == PRIVATE
