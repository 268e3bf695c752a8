"""The API refuses everything that it does not know: nothing that is given is quietly ignored."""

from __future__ import annotations

import pytest

from tests.kit import make
from tests.kit.everything import one_of_everything
from webapp.comparisons.models import Comparison


@pytest.mark.parametrize(
    "address", ["samples/?run=", "jobs/?state=", "runs/?since=", "comparisons/?binned=perhaps", "jobs/?ordering="]
)
def test_a_filter_that_cannot_be_read_is_refused_by_name(world, address):
    world.alice.is_operator = True
    world.alice.save()
    answer = world.api(world.alice).get(f"/api/v1/{address}")
    name = address.partition("?")[2].partition("=")[0]
    assert (answer.status_code, answer.json()["field"]) == (400, name)
    assert world.api(world.alice).get("/api/v1/comparisons/?name=").status_code == 200  # a text may be empty


def test_a_method_that_an_address_does_not_take_is_refused_before_its_query_is_read(world):
    sample = one_of_everything(world)["samples"]
    client = world.api(world.alice)
    for address in (f"/api/v1/samples/{sample.pk}/", "/api/v1/shares/?a=b"):
        assert client.generic("TRACE", address).status_code == 405
        assert "TRACE" not in client.options(address)["Allow"]


def test_a_name_that_a_body_does_not_know_is_refused_by_name(world):
    answer = world.api(world.alice).post("/api/v1/teams/", {"name": "lab", "naem": "x"})
    assert (answer.status_code, answer.json()["field"]) == (400, "naem")
    assert "known are name" in answer.json()["detail"]
    told = world.api(world.alice).get("/api/v1/comparisons/?sate=queued").json()
    assert told["field"] == "sate" and told["detail"].endswith("Did you mean state?")


def test_in_json_a_number_is_no_text_and_a_text_no_number(world):
    things = {name: thing.pk for name, thing in one_of_everything(world).items()}
    for address, body, field in (
        ("teams/", {"name": 0}, "name"),
        ("invitations/", {"role": "member", "days": True}, "days"),
        ("comparisons/{comparisons}/shares/", {"days": 1, "hides_texts": 0}, "hides_texts"),
        ("comparisons/{comparisons}/clone/", {"sampling": {"stop": ["a", 0]}}, "sampling.stop"),
    ):
        answer = world.api(world.alice).post(f"/api/v1/{address.format(**things)}", body)
        assert (answer.status_code, answer.json()["field"]) == (400, field)
        assert "it must be" in answer.json()["detail"]


KNOWN = "is not one of autoregressive, static,"
DUE = "it must be an object"
TEXT = "it must be a text, such as"


@pytest.mark.parametrize(
    ("changes", "field", "told"),
    [
        ({"strategies": ["statik"]}, "strategies.0", ['"statik"', TEXT, '{"strategy": "static"', "mean static?"]),
        ({"strategies": "static"}, "strategies", ['This is "static"; it must be a list.']),
        ({"strategies": [{"strategy": "statik"}]}, "strategies.0.strategy", ['"statik"', KNOWN, "mean static?"]),
        ({"strategies": [{"strategy": "static", "parameters": {}}]}, "strategies.0.parameters", ["mean params?"]),
        ({"strategies": [{"strategy": "static", "params": {"lookahed": 4}}]}, "strategies.0",
         ["static has no parameter 'lookahed'; it takes lookahead.", "mean lookahead?"]),
        ({"sampling": "greedy"}, "sampling", ['"greedy"', DUE, "temperature"]),
        ({"sampling": {"temprature": 1}}, "sampling.temprature", ["mean temperature?"]),
    ],
)  # fmt: skip
def test_a_comparison_asked_for_wrongly_is_told_where_what_and_what_else(world, by, changes, field, told):
    answer = world.api(world.bob).post("/api/v1/comparisons/", make.body(make.pair(by), make.dataset(by), **changes))
    said = answer.json()
    assert (answer.status_code // 100, said["field"]) == (4, field)
    assert [part for part in told if part not in said["detail"]] == []
    assert ("Did you mean" in said["detail"]) == told[-1].startswith("mean")
    assert not Comparison.objects.exists()


@pytest.mark.parametrize("role", ["king", {"a": 1}, True])
def test_a_choice_that_is_no_text_is_refused_in_words(world, role):
    answer = world.api(world.alice).post("/api/v1/invitations/", {"role": role})
    assert (answer.status_code, answer.json()["field"]) == (400, "role")
    assert "is not one of owner, member, viewer" in answer.json()["detail"]
