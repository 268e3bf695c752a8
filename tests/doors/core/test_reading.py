"""Some of many rows: read in the order that was asked for, and whole only where they are shown."""

from __future__ import annotations

import pytest
from rest_framework import serializers

from tests.kit.everything import one_of_everything
from webapp.accounts.models import Team
from webapp.config import api_urls  # noqa: F401  which loads every serializer
from webapp.core import reading
from webapp.core.api import Output

pytestmark = pytest.mark.django_db


def some_teams(count: int) -> list[str]:
    Team.objects.bulk_create(Team(name=f"{number:04}") for number in range(count))
    return [f"{number:04}" for number in range(count)]


@pytest.mark.parametrize("order", ["name", "-name", "created", "-created"])
def test_a_part_is_counted_whatever_orders_it(order):
    some_teams(7)
    rows = Team.objects.exclude(name="0003").order_by(order, "pk")
    for start, stop in ((0, 3), (4, 50), (50, 60)):
        assert reading.counted_part(rows, start, stop) == (list(rows[start:stop]), 6)


def test_each_row_comes_once_in_order_and_one_that_goes_meanwhile_is_left_out():
    names = some_teams(reading.AT_ONCE + 3)
    coming = reading.each(Team.objects.order_by("name"))
    first = next(coming)
    Team.objects.filter(name=names[-2]).delete()
    assert [team.name for team in (first, *coming)] == [*names[:-2], names[-1]]


def kinds_of_output() -> list[type[Output]]:
    """Every serializer of rows that an app has, but for those that show rows in a way of their own."""
    waiting, found = [Output], []
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        is_usual = kind.to_representation is Output.to_representation
        found += [kind] if hasattr(kind, "Meta") and is_usual else []
    return found


def test_rows_are_shown_as_the_framework_shows_them(world):
    one_of_everything(world)
    actor, shown = world.actor(world.bob), set()
    for kind in kinds_of_output():
        for row in kind.Meta.model._default_manager.all()[:3]:
            serializer = kind(row, context={"actor": actor})
            assert serializer.data == serializers.ModelSerializer.to_representation(serializer, row), kind
            shown.add(kind.Meta.model)
    assert len(shown) > 15
