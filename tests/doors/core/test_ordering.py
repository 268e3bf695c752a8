"""Lists are read page by page, so rows that are alike in what they are sorted by still have an order of their own."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.kit.addresses import address, routes
from tests.kit.everything import more_of_everything, one_of_everything
from webapp.accounts.models import User

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def lists():
    """Every list of the API that takes an order, by the name of its route."""
    for method, pattern in routes():
        view = getattr(pattern.callback, "cls", None)
        if method == "GET" and getattr(pattern.callback, "actions", {}).get("get") == "list" and view.ordering_fields:
            yield pattern, view


def test_of_rows_that_are_alike_every_page_has_its_own(world):
    User.objects.filter(pk=world.alice.pk).update(is_operator=True)
    things = one_of_everything(world)
    more_of_everything(world)
    client, longest = world.api(world.alice), {}
    for pattern, view in lists():
        at = address(pattern, things)
        shared = [name for name in ("created", "expires", "seen", "state", "role") if name in view.ordering_fields]
        for name in shared:
            if name in ("created", "expires", "seen"):
                view.queryset.model.objects.update(**{name: MOMENT})
            for ordering in (name, f"-{name}"):
                whole = client.get(at, {"ordering": ordering, "limit": 500}).json()["results"]
                paged = []
                for offset in range(0, len(whole), 2):
                    found = client.get(at, {"ordering": ordering, "limit": 2, "offset": offset})
                    paged += [row["id"] for row in found.json()["results"]]
                alike = {row.get(name): [] for row in whole}
                for row in whole:
                    alike[row.get(name)].append(row["id"])
                assert all(ids == sorted(ids) for ids in alike.values()), (at, ordering)
                assert paged == [row["id"] for row in whole], (at, ordering)
                longest[at] = max(map(len, alike.values()), default=0)
    assert sum(count > 3 for count in longest.values()) > 10, longest
