"""Refusals by the API itself say what happened, and what to do."""

from __future__ import annotations

import json

import pytest

from tests.kit import make
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
    ],
)
def test_a_refusal_says_what_to_do(world, method, address, headers, status, told):
    client = world.script()
    kind = headers.get("Content-Type", "application/json")
    answer = client.generic(method, f"/api/v1/{address}", b"hello", content_type=kind, headers=headers)
    problem = json.loads(answer.content)
    assert (answer.status_code, answer["Content-Type"]) == (status, "application/problem+json")
    assert told in f"{problem['detail']} {problem['hint']}" and problem["detail"].endswith(".")
    assert problem["code"] and problem["request_id"] == answer["X-Request-ID"]


def test_every_answer_names_its_drafthouse(world):
    answer = world.script().get("/api/v1/jobs/")
    assert (answer["X-Version"], answer["X-Api-Version"]) == (version(), "1")


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
    assert told["pair"] == f"There is none with the id {pair.pk}, or you may not see it."
    assert told["dataset"] == told["pair"]
    upload = make.upload(world.actor(world.alice), make.checkpoint())
    answer = world.api(world.charlie).post("/api/v1/models/", {"name": "x", "upload": str(upload.pk)})
    assert (answer.status_code, answer.json()["field"]) == (400, "upload")
