"""Signing in by password and by one-time link."""

from __future__ import annotations

from django.core.management import call_command
from django.test import Client

from webapp.accounts import services
from webapp.accounts.models import User

PASSWORD = "correct horse battery"


def made(username: str = "dora") -> User:
    return services.create_user(username=username, password=PASSWORD)


def test_the_right_password_opens_the_door(db):
    made()
    client = Client()
    answer = client.post("/sign-in/", {"username": "Dora", "password": PASSWORD, "next": "/account/"})
    assert (answer.status_code, answer["Location"]) == (302, "/account/")
    assert client.get("/account/").status_code == 200


def test_a_wrong_password_says_so_without_saying_which_part_is_wrong(db):
    made()
    known = Client().post("/sign-in/", {"username": "dora", "password": "wrong"})
    unknown = Client().post("/sign-in/", {"username": "nobody", "password": "wrong"})
    assert known.status_code == unknown.status_code == 422
    sentence = b"This name and password do not belong together."
    assert sentence in known.content and sentence in unknown.content


def test_the_eleventh_wrong_password_waits(db):
    made()
    for _ in range(10):
        Client().post("/sign-in/", {"username": "dora", "password": "wrong"})
    answer = Client().post("/sign-in/", {"username": "dora", "password": PASSWORD})
    assert answer.status_code == 429 and int(answer["Retry-After"]) > 0
    assert b"More than 10 tries" in answer.content


def test_next_never_leads_to_another_site(db):
    made()
    for bad in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        answer = Client().post("/sign-in/", {"username": "dora", "password": PASSWORD, "next": bad})
        assert answer["Location"] == "/"


def test_the_launchers_link_signs_the_first_owner_in_once(db, capsys):
    call_command("sign_in_link")
    link = capsys.readouterr().out.strip()
    client = Client()
    assert client.get(link).status_code == 200  # a preview of the link does not use it up
    assert client.post(link).status_code == 302
    assert client.get("/account/").status_code == 200
    assert Client().post(link).status_code == 410


def test_a_new_link_ends_the_one_before(db):
    user = made()
    first = services.issue_sign_in_link(user=user)
    services.issue_sign_in_link(user=user)
    assert Client().post(f"/enter/{first}/").status_code == 410


def test_there_is_no_default_password(db):
    owner = services.first_owner()
    assert not owner.has_usable_password()
    assert services.first_owner() == owner


def test_signing_out_needs_a_post_and_ends_the_session(db):
    client = Client()
    client.force_login(made())
    assert client.get("/sign-out/").status_code == 405
    client.post("/sign-out/")
    assert client.get("/account/").status_code == 302


def test_a_changed_password_needs_the_old_one_and_ends_other_sessions(db):
    user = made()
    here, elsewhere = Client(), Client()
    here.force_login(user)
    elsewhere.force_login(user)
    wrong = here.post("/account/", {"current": "wrong", "new": "another good one"})
    assert b"This is not your current password." in wrong.content
    short = here.post("/account/", {"current": PASSWORD, "new": "short"})
    assert b"too short" in short.content
    assert here.post("/account/", {"current": PASSWORD, "new": "another good one"}).status_code == 302
    assert here.get("/account/").status_code == 200
    assert elsewhere.get("/account/").status_code == 302


def test_passwords_are_stored_with_argon2(db):
    assert made().password.startswith("argon2$argon2id$")
