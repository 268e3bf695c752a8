"""Signing in by password and by one-time link."""

from __future__ import annotations

import pytest
from django.test import Client

from webapp.accounts import authentication, middleware, services
from webapp.accounts.models import Role, User
from webapp.core.limits import Limit

PASSWORD = "correct horse battery"
STRANGER, HOME = {"REMOTE_ADDR": "203.0.113.66"}, {"REMOTE_ADDR": "198.51.100.7"}


@pytest.fixture(autouse=True)
def quick_hashes(request, settings):
    """Argon2 is slow on purpose."""
    if "argon2" not in request.node.name:
        settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def made() -> User:
    return services.create_user(username="dora", password=PASSWORD)


def sign_in(password=PASSWORD, username="dora", **address):
    return Client().post("/sign-in/", {"username": username, "password": password}, **address).status_code


def test_the_right_password_opens_the_door_and_a_wrong_one_does_not_say_which_part_is_wrong(db):
    made()
    client = Client()
    answer = client.post("/sign-in/", {"username": "Dora", "password": PASSWORD, "next": "/account/"})
    assert (answer.status_code, answer["Location"]) == (302, "/account/")
    away = Client().post("/sign-in/", {"username": "dora", "password": PASSWORD, "next": "https://evil.example/"})
    assert away["Location"] == "/"
    known = Client().post("/sign-in/", {"username": "dora", "password": "wrong"})
    unknown = Client().post("/sign-in/", {"username": "nobody", "password": "wrong"})
    assert known.status_code == unknown.status_code == 422
    sentence = b"The name or the password is wrong."
    assert sentence in known.content and sentence in unknown.content
    assert client.get("/sign-out/").status_code == 405
    assert client.get("/account/").status_code == 200
    client.post("/sign-out/")
    assert client.get("/account/").status_code == 302


def test_a_stranger_guesses_only_so_often_and_locks_nobody_out(db):
    made()
    assert {sign_in(**STRANGER) for _ in range(35)} == {302}
    assert [sign_in("wrong", **STRANGER) for _ in range(11)] == [422] * 10 + [429]
    answer = Client().post("/sign-in/", {"username": "dora", "password": PASSWORD}, **STRANGER)
    assert (answer.status_code, b"More than 10 tries" in answer.content) == (429, True)
    assert int(answer["Retry-After"]) > 0
    tried = [sign_in("wrong", f"name{number}", **STRANGER) for number in range(31)]
    assert tried.count(422) < 30 and tried[-1] == 429  # whatever names it tries
    assert sign_in(**HOME) == 302


def test_a_valid_link_works_where_too_many_wrong_ones_were_tried(world):
    wrong = [Client().post("/enter/wrong/", **STRANGER).status_code for _ in range(31)]
    assert wrong == [410] * 30 + [429]
    link = services.issue_sign_in_link(user=world.bob)
    assert Client().post(f"/enter/{link}/", **STRANGER).status_code == 302
    invitation = services.invite(role=Role.VIEWER, days=1, by=world.actor(world.alice))[1]
    assert Client().get("/join/wrong/", **STRANGER).status_code == 429
    assert {Client().get(f"/join/{invitation}/", **STRANGER).status_code for _ in range(35)} == {200}


@pytest.mark.parametrize("address", ["/account/", "/api/v1/me/"])
def test_a_session_may_ask_often_and_is_told_when_that_is_too_often(world, monkeypatch, address):
    few = Limit("session", count=3, seconds=60)
    monkeypatch.setattr(authentication, "REQUESTS_BY_SESSION", few)
    monkeypatch.setattr(middleware, "REQUESTS_BY_SESSION", few)
    client = world.page(world.bob)
    answers = [client.get(address) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert 0 < int(answers[-1]["Retry-After"]) <= 60
    assert world.page(world.alice).get(address).status_code == 200


def test_the_launchers_link_signs_the_first_owner_in_once(db):
    before, link, client = services.sign_in_path(), services.sign_in_path(), Client()
    assert Client().post(before).status_code == 410
    assert client.get(link).status_code == 200  # a preview of the link does not use it up
    assert client.post(link).status_code == 302
    assert client.get("/account/").status_code == 200
    assert Client().post(link).status_code == 410


def test_a_changed_password_needs_the_old_one_and_ends_other_sessions(db):
    user = made()
    here, elsewhere = Client(), Client()
    here.force_login(user)
    elsewhere.force_login(user)
    assert b"too short" in here.post("/account/", {"current": PASSWORD, "new": "short"}).content
    assert here.post("/account/", {"current": PASSWORD, "new": "another good one"}).status_code == 302
    assert here.get("/account/").status_code == 200
    assert elsewhere.get("/account/").status_code == 302
    body = {"current": "wrong", "new": "a third good one"}
    assert [here.post("/account/", body).status_code for _ in range(10)][-2:] == [422, 429]


def test_passwords_are_stored_with_argon2_and_none_is_there_by_default(db):
    assert made().password.startswith("argon2$argon2id$")
    owner = services.first_owner()
    assert not owner.has_usable_password()
    assert services.first_owner() == owner
