"""Some of many rows: read in the order that was asked for, and whole only where they are shown."""

from __future__ import annotations

import pytest
from django.utils import timezone

from tests.kit import make
from webapp.accounts.models import Team
from webapp.config import api_urls  # noqa: F401  which loads every serializer
from webapp.core import reading
from webapp.registry.models import Dataset

pytestmark = pytest.mark.django_db


def some_teams(count: int) -> list[str]:
    Team.objects.bulk_create(Team(name=f"{number:04}") for number in range(count))
    return [f"{number:04}" for number in range(count)]


def test_each_row_comes_once_in_order_and_one_that_goes_meanwhile_is_left_out():
    names = some_teams(reading.AT_ONCE + 3)
    coming = reading.each(Team.objects.order_by("name"))
    first = next(coming)
    Team.objects.filter(name=names[-2]).delete()
    assert [team.name for team in (first, *coming)] == [*names[:-2], names[-1]]


def test_of_rows_that_are_alike_every_page_has_its_own(world, by):
    made = sorted(str(make.dataset(by, count=1, name="alike").pk) for _ in range(5))
    Dataset.objects.update(created=timezone.now())
    paged = []
    for offset in range(0, 6, 2):
        found = world.api(world.bob).get("/api/v1/datasets/", {"ordering": "-name", "limit": 2, "offset": offset})
        paged += [row["id"] for row in found.json()["results"]]
    assert paged == made
    beyond = world.api(world.bob).get("/api/v1/datasets/", {"offset": 50}).json()
    assert (beyond["count"], beyond["results"]) == (5, [])
