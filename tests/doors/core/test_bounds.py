"""Values out of bounds are refused with the field, the value that came, and the bounds to keep."""

from __future__ import annotations

import pytest
from django.http import QueryDict
from rest_framework import serializers

from webapp.core.api import Input

SHA = "0" * 64


@pytest.mark.parametrize(
    ("address", "body", "field", "told"),
    [
        ("invitations", {"days": 91}, "days", "This is 91; it must be from 1 to 90."),
        ("teams", {"name": "x" * 81}, "name", "This has 81 characters; it must have at most 80."),
        ("teams", {"name": f" {'x' * 80}"}, "name",
         "This has 81 characters with the space around it; it must have at most 80."),
        ("uploads", {"name": "x", "files": [{"path": "a", "size": 1, "chunks": ["ab"]}]}, "files.0.chunks.0",
         "This has 2 characters; it must have 64."),
        ("uploads", {"name": "x", "files": [{"path": "a", "size": 1, "chunks": [SHA] * 100_001}]}, "files.0.chunks",
         "This has 100001 entries; it must have at most 100000."),
        ("comparisons", {"sampling": {"temperature": 99}}, "sampling.temperature",
         "This is 99; it must be from 0.0 to 10.0."),
    ],
)  # fmt: skip
def test_the_api_says_what_came_and_what_may_come(world, address, body, field, told):
    answer = world.api(world.alice).post(f"/api/v1/{address}/", body)
    assert answer.status_code == 400
    assert (field, told) in [(each["field"], each["detail"]) for each in answer.json()["errors"]]


def test_so_does_the_form(world, ready):
    pair, dataset = ready
    launched = world.page(world.bob).post(
        "/comparisons/new/", {"pair": pair.pk, "dataset": dataset.pk, "repeats": "101"}
    )
    assert "This is 101; it must be from 1 to 100." in launched.content.decode()


class Stops(Input):
    stop = serializers.ListField(child=serializers.CharField(max_length=3))


@pytest.mark.parametrize(
    "data", [{"stop": ["a", "long"]}, QueryDict("stop=a&stop=long"), QueryDict("stop=long&stop=a")]
)
def test_a_list_that_a_form_sends_is_read_as_one(data):
    stops = Stops(data=data)
    assert not stops.is_valid()
    told = [each for entries in stops.errors["stop"].values() for each in entries]
    assert told == ["This has 4 characters; it must have at most 3."]
