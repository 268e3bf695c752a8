"""The API refuses everything that it does not know, and says what to do: nothing that is given is quietly ignored."""

from __future__ import annotations

import json

import pytest

from tests.kit import make
from tests.kit.everything import one_of_everything
from webapp.comparisons.models import Comparison
from webapp.core.version import version


@pytest.mark.parametrize(
    ("method", "address", "headers", "status", "told"),
    [
        ("DELETE", "jobs/", {}, 405, "It takes GET, HEAD, OPTIONS."),
        ("GET", "jobs/", {"Accept": "text/html"}, 406, "It can be application/json."),
        ("POST", "pairs/", {"Content-Type": "text/plain"}, 415, "Send it with Content-Type: application/json."),
        ("GET", "jobs/", {"Host": "evil.example"}, 400, "Use another address"),
        ("GET", "nothing/", {}, 404, "Check the address."),
        ("GET", "jobs/?state=lost", {}, 400, "state is 'lost'. It can be queued, "),
        ("GET", "samples/?run=", {}, 400, "It must be an id."),
        ("GET", "comparisons/?binned=perhaps", {}, 400, "It can be true or false."),
        ("GET", "jobs/?ordering=", {}, 400, "it can be created, "),
        ("GET", "comparisons/?sate=queued", {}, 400, "Did you mean state?"),
    ],
)
def test_a_refusal_says_what_to_do(world, method, address, headers, status, told):
    kind = headers.get("Content-Type", "application/json")
    answer = world.script().generic(method, f"/api/v1/{address}", b"hello", content_type=kind, headers=headers)
    problem = json.loads(answer.content)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert told in f"{problem['detail']} {problem['hint']}"
    assert problem["code"] and problem["request_id"] == answer["X-Request-ID"]
    assert (answer["X-Version"], answer["X-Api-Version"]) == (version(), "1")


def test_a_method_that_an_address_does_not_take_is_refused_before_its_query_is_read(world):
    sample = one_of_everything(world)["samples"]
    client = world.api(world.alice)
    for address in (f"/api/v1/samples/{sample.pk}/", "/api/v1/shares/?a=b"):
        assert client.generic("TRACE", address).status_code == 405
        assert "TRACE" not in client.options(address)["Allow"]


@pytest.mark.parametrize(
    ("address", "body", "field", "told"),
    [
        ("teams", {"name": "lab", "naem": "x"}, "naem", "known are name"),
        ("teams", {"name": 0}, "name", "it must be a text"),
        ("teams", {"name": f" {'x' * 80}"}, "name", "81 characters with the space around it"),
        ("invitations", {"days": True}, "days", "it must be a number"),
        ("invitations", {"role": {"a": 1}}, "role", "is not one of owner, member, viewer"),
    ],
)
def test_what_a_body_does_not_take_is_refused_by_name(world, address, body, field, told):
    answer = world.api(world.alice).post(f"/api/v1/{address}/", body)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert told in answer.json()["detail"]


@pytest.mark.parametrize(
    ("changes", "field", "told"),
    [
        ({"strategies": ["statik"]}, "strategies.0", ["it must be a text, such as", "Did you mean static?"]),
        ({"strategies": "static"}, "strategies", ['This is "static"; it must be a list.']),
        ({"strategies": [{"strategy": "statik"}]}, "strategies.0.strategy", ["is not one of", "mean static?"]),
        ({"strategies": [{"strategy": {}}]}, "strategies.0.strategy", ["is not one of"]),
        ({"strategies": [{"strategy": "static", "params": {"lookahed": 4}}]}, "strategies.0",
         ["static has no parameter 'lookahed'; it takes lookahead."]),
        ({"sampling": "greedy"}, "sampling", ["it must be an object"]),
        ({"sampling": {"stop": ["a", 0]}}, "sampling.stop", ["it must be a text"]),
    ],
)  # fmt: skip
def test_a_comparison_asked_for_wrongly_is_told_where_what_and_what_else(world, by, changes, field, told):
    answer = world.api(world.bob).post("/api/v1/comparisons/", make.body(make.pair(by), make.dataset(by), **changes))
    said = answer.json()
    assert (answer.status_code // 100, said["field"]) == (4, field)
    assert [part for part in told if part not in said["detail"]] == []
    assert not Comparison.objects.exists()


def test_who_forgets_the_slash_is_sent_on_with_what_they_sent(world, by):
    pair = make.pair(by)
    answer = world.api(world.bob).patch(f"/api/v1/pairs/{pair.pk}", {"name": "new"}, follow=True)
    assert answer.redirect_chain == [(f"/api/v1/pairs/{pair.pk}/", 308)]
    assert answer.json()["name"] == "new"


def test_another_teams_thing_is_no_different_from_none(world):
    pair = make.pair(world.actor(world.alice))
    body = {"dataset": str(pair.pk), "pair": str(pair.pk), "strategies": [{"strategy": "static"}]}
    problem = world.api(world.charlie).post("/api/v1/comparisons/", body).json()
    told = {error["field"]: error["detail"] for error in problem["errors"]}
    assert told["pair"] == told["dataset"] == f"There is none with the id {pair.pk}, or you may not see it."
    upload = make.upload(world.actor(world.alice), make.checkpoint())
    answer = world.api(world.charlie).post("/api/v1/models/", {"name": "x", "upload": str(upload.pk)})
    assert (answer.status_code, answer.json()["field"]) == (400, "upload")
