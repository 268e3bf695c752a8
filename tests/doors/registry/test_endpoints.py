"""Servers of a team: registered, checked, kept apart; their keys go in and never come out."""

from __future__ import annotations

import pytest

from decoding.backends.contestants.servers.guard import NOWHERE, allowed
from tests.kit import make
from webapp.accounts.models import AuditEntry, User
from webapp.core.secrets import CannotOpen, opened, seal
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry.endpoints.services import key_of
from webapp.registry.models import Endpoint

KEY = "sk-a-key-that-nobody-sees"
BODY = {"name": "theirs", "url": "http://127.0.0.1:8080", "dialect": "vllm"}


def post(world, **changes):
    return world.script("submit").post("/api/v1/endpoints/", {**BODY, **changes})


def test_a_server_is_registered_and_a_worker_is_asked_to_check_it_and_again_once_that_is_over(world, by):
    answer = post(world, key=KEY, dtype="float16", url=f"{BODY['url']}/v1")
    assert answer.json()["url"] == BODY["url"]  # Drafthouse adds the routes
    assert (answer.status_code, answer.json()["state"], answer.json()["has_key"]) == (202, "checking", True)
    assert Job.objects.get().kind == "check-endpoint"
    assert Endpoint.objects.get().spec.rounding == answer.json()["dtype"] == "float16"
    at = f"/api/v1/endpoints/{answer.json()['id']}/check/"
    assert world.script("submit").post(at).json()["code"] == "under-way"
    jobs.cancel(job=Job.objects.get(), by=by)
    assert world.script("submit").post(at).status_code == 202


@pytest.mark.parametrize(
    "changes, field, told",
    [
        ({"name": "two words"}, "name", "Take letters, digits"),
        ({"url": "ftp://127.0.0.1"}, "url", "not a server's address"),
        ({"url": "http://10.0.0.5:8000"}, "url", "the operator does not allow"),
        ({"key": "two words"}, "key", "one word"),
    ],
)
def test_what_cannot_be_a_server_is_refused_in_a_sentence_and_leaves_nothing(world, changes, field, told):
    answer = post(world, **changes)
    assert (answer.status_code, answer.json()["field"]) == (400, field)
    assert told in answer.json()["detail"]
    assert not Endpoint.objects.exists() and not Job.objects.exists()


def test_servers_may_be_where_the_operator_lists_them_and_unless_any_are_only_the_operator_adds_those_here(
    world, settings
):
    settings.SERVERS = allowed(["10.0.0.0/8"])
    assert post(world, url="http://10.0.0.5:8000").status_code == 202
    settings.SERVERS = NOWHERE
    assert "The operator allows no servers" in post(world, url="http://vllm.internal:8000").json()["detail"]
    settings.SERVERS, settings.SERVERS_ARE_USUAL = allowed(["127.0.0.1"]), True
    answer = post(world, name="here")
    assert (answer.status_code, answer.json()["field"]) == (400, "url")
    assert "DRAFTHOUSE_SERVERS is not set" in answer.json()["detail"]
    User.objects.filter(pk=world.alice.pk).update(is_operator=True)
    assert post(world, name="here").status_code == 202


def test_a_key_is_in_no_answer_page_audit_line_or_column(world):
    theirs = make.endpoint(world.actor(world.bob), key=KEY)
    script, page = world.script("submit"), world.page(world.bob)
    told = [
        script.get(f"/api/v1/endpoints/{theirs.pk}/").content,
        script.get("/api/v1/endpoints/").content,
        page.get(f"/endpoints/{theirs.pk}/").content,
        page.get("/endpoints/").content,
        page.post("/endpoints/new/", {**BODY, "name": "again", "key": KEY, "describe": ""}).content,
        repr(list(AuditEntry.objects.values())).encode(),
        repr(list(Endpoint.objects.values())).encode(),
    ]
    assert not any(KEY.encode() in each for each in told)
    assert "has_key" in told[0].decode() and "No page shows it" in told[2].decode()
    assert key_of(theirs) == KEY


def test_a_key_is_replaced_deleted_and_worthless_under_another_secret(world, settings):
    theirs = make.endpoint(world.actor(world.bob), key=KEY)
    script, at = world.script("submit"), f"/api/v1/endpoints/{theirs.pk}/key/"
    assert script.put(at, {"key": "sk-another"}).json()["has_key"]
    theirs.refresh_from_db()
    assert key_of(theirs) == "sk-another"
    assert script.delete(at).status_code == 204
    theirs.refresh_from_db()
    assert (theirs.sealed_key, theirs.key_set) == ("", None)
    assert script.delete(at).status_code == 409
    page = world.page(world.bob)
    page.post(f"/endpoints/{theirs.pk}/key/", {"key": KEY})
    theirs.refresh_from_db()
    assert key_of(theirs) == KEY
    sealed = seal(KEY)
    settings.SECRET_KEY = "another"
    with pytest.raises(CannotOpen):
        opened(sealed)


def test_a_name_is_taken_until_its_server_is_deleted_and_then_blocks_its_return(world):
    first = post(world).json()
    assert post(world).json()["code"] == "name-taken"
    script = world.script("submit")
    assert script.delete(f"/api/v1/endpoints/{first['id']}/").status_code == 204
    assert post(world).status_code == 202
    answer = script.post(f"/api/v1/endpoints/{first['id']}/restore/")
    assert (answer.status_code, answer.json()["code"]) == (409, "name-taken")
    assert "There is a server called theirs already." in answer.json()["detail"]
