"""Lists are read page by page, so rows that are alike in what they are sorted by still have an order of their own."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.kit import make
from webapp.registry.models import Dataset

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("ordering", ["created", "-created", "-name"])
def test_of_rows_that_are_alike_every_page_has_its_own(world, by, ordering):
    made = sorted(str(make.dataset(by, count=1, name="alike").pk) for _ in range(7))
    Dataset.objects.update(created=MOMENT)
    paged = []
    for offset in range(0, 8, 2):
        found = world.api(world.bob).get("/api/v1/datasets/", {"ordering": ordering, "limit": 2, "offset": offset})
        paged += [row["id"] for row in found.json()["results"]]
    assert paged == made
