"""What the API is asked has to be something it knows: nothing that is given is quietly ignored."""

from __future__ import annotations

import pytest

from tests.webapp.everything import one_of_everything


@pytest.mark.parametrize(
    "address",
    ["samples/?run=", "shares/?comparison=", "studies/?pair=", "jobs/?state=", "runs/?conditions=", "runs/?since=",
     "comparisons/?binned=perhaps", "users/?is_active=", "runs/?speedup_from="],
)  # fmt: skip
def test_a_filter_that_cannot_be_read_is_refused_by_name(world, address):
    world.alice.is_operator = True
    world.alice.save()
    answer = world.api(world.alice).get(f"/api/v1/{address}")
    name = address.partition("?")[2].partition("=")[0]
    assert (answer.status_code, answer.json()["field"]) == (400, name)


def test_a_text_to_look_for_may_be_empty(world):
    assert world.api(world.alice).get("/api/v1/comparisons/?name=").status_code == 200


def test_a_method_that_an_address_does_not_take_is_refused_before_its_query_is_read(world):
    sample = one_of_everything(world)["samples"]
    client = world.api(world.alice)
    for address in (
        f"/api/v1/samples/{sample.pk}/",
        f"/api/v1/samples/{sample.pk}/trace/?after=0",
        "/api/v1/shares/?a=b",
    ):
        assert client.generic("TRACE", address).status_code == 405
        assert "TRACE" not in client.options(address)["Allow"]
