"""The attacks that attackers try first. Wherever an address names the page to go on with, that page is one of ours."""

from __future__ import annotations

import os
import subprocess
import sys
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.db import transaction
from django.test import Client
from rest_framework.test import APIClient

from tests.kit import make
from tests.kit.addresses import address, routes
from tests.kit.everything import one_of_everything
from webapp.accounts import services
from webapp.accounts.models import Scope
from webapp.core.templatetags.ui import coded


def test_a_change_needs_a_csrf_token_but_by_token_which_no_browser_sends_by_itself(world):
    page, api = Client(enforce_csrf_checks=True), APIClient(enforce_csrf_checks=True)
    for client in (page, api):
        client.force_login(world.alice)
    assert page.post("/team/new/", {"name": "x"}).status_code == 403
    answer = api.post("/api/v1/teams/", {"name": "x"})
    assert (answer.status_code, answer["Content-Type"]) == (403, "application/problem+json")
    assert api.get("/api/v1/teams/").json()["count"] == 1
    text = services.create_token(name="ci", scope=Scope.SUBMIT, days=1, by=world.actor(world.alice))[1]
    client = APIClient(enforce_csrf_checks=True)
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {text}")
    assert client.post("/api/v1/datasets/", {"name": "x", "text": "one"}).status_code == 201


def test_pages_may_send_to_the_configured_bucket_and_nowhere_else(tmp_path):
    code = "from webapp.config import settings\n"
    code += "print(*settings.CONTENT_SECURITY_POLICY['DIRECTIVES']['connect-src'])"
    bucket = {"BUCKET": "w", "ENDPOINT": "http://minio:9000", "PUBLIC_ENDPOINT": "https://s3.example.org/x"}
    named = {f"DRAFTHOUSE_S3_{name}": value for name, value in bucket.items()}
    environment = {**os.environ, "DRAFTHOUSE_DATA": str(tmp_path), **named}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.split() == ["'self'", "https://s3.example.org"]


def test_what_people_write_is_never_html_and_what_they_upload_never_served(world):
    """Nothing serves uploaded content at all: workers read it from the store."""
    by = world.actor(world.alice)
    evil = "<script>alert(1)</script>"
    make.dataset(by, name=evil)
    comparison = make.comparison(by)
    type(comparison).objects.update(name=evil)
    client = world.page(world.victor)
    for path in ("/datasets/", "/comparisons/", f"/comparisons/{comparison.pk}/", f"/datasets/?q={evil}"):
        assert evil not in client.get(path).content.decode()
    make.upload(world.actor(world.alice), {"evil.html": b"<script>alert(1)</script>"})
    client = world.page(world.alice)
    for path in ("/media/evil.html", "/static/evil.html", "/chunks/evil.html", "/data/evil.html"):
        assert client.get(path).status_code == 404


def test_what_is_typed_looks_so_and_nothing_else_becomes_markup():
    assert (
        coded("busy with “<b>`<i>`</b>” and ` alone")
        == "busy with “&lt;b&gt;<code>&lt;i&gt;</code>&lt;/b&gt;” and ` alone"
    )


def test_cookies_are_out_of_reach_of_scripts_and_of_other_sites(world):
    world.alice.set_password("correct horse battery")
    world.alice.save()
    answer = Client().post("/sign-in/", {"username": "alice", "password": "correct horse battery"})
    cookies: SimpleCookie = answer.cookies
    for name in (django_settings.SESSION_COOKIE_NAME, django_settings.CSRF_COOKIE_NAME):
        assert cookies[name]["httponly"] and cookies[name]["samesite"] == "Lax"
    assert django_settings.SESSION_COOKIE_SECURE == django_settings.HTTPS


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b'{"a":' * 40 + b"1" + b"}" * 40, "nested"),
        (b'{"name": "a\\u0000b"}', "NUL"),
        (b'{"name": "\\ud800"}', "surrogate"),
        (b"[]", "object"),
    ],
)
def test_json_that_would_hurt_is_refused_in_words(world, body, told):
    answer = world.api(world.alice).generic("POST", "/api/v1/teams/", body, content_type="application/json")
    assert answer.status_code == 400
    assert told in answer.json()["detail"]


def test_the_state_of_the_system_holds_no_secret(world, settings):
    world.alice.is_operator = True
    world.alice.save()
    settings.REDIS_URL = "redis://:hunter2@127.0.0.1:1/0"
    shown = world.api(world.alice).get("/api/v1/system/").content.decode()
    page = world.page(world.alice).get("/system/").content.decode()
    for secret in (settings.SECRET_KEY, settings.TOKEN_PEPPER, "hunter2", str(settings.DATA_DIR)):
        assert secret not in shown and secret not in page


def test_the_secrets_lie_in_files_that_only_their_owner_can_read():
    folder = django_settings.STATIC_ROOT.parent / "secrets"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
    assert {path.name for path in folder.iterdir()} == {"secret_key", "token_pepper"}


def test_no_address_of_a_page_sends_anybody_elsewhere(world):
    things, onward = one_of_everything(world), "/\\evil.example/"
    asked = {name: onward for name in ("next", "back", "return", "url", "redirect_to")}
    for client in (world.page(None), world.page(world.alice)):
        client.raise_request_exception = False
        for method, pattern in routes():
            path = address(pattern, things)
            if path.startswith("/api/"):
                continue
            cache.clear()
            with transaction.atomic():
                sent = {"data": asked} if method == "POST" else {}
                answer = getattr(client, method.lower())(f"{path}?{urlencode(asked)}", **sent, HTTP_REFERER=onward)
                transaction.set_rollback(True)
            where = answer.get("Location", "/")
            assert answer.status_code < 500, f"{method} {path}"
            assert where.startswith("/") and not where.startswith(("//", "/\\")), f"{method} {path} {where!r}"
            assert answer.status_code != 302 or "evil" not in where.partition("?")[0]


def test_only_a_page_of_ours_is_gone_on_with(world):
    client, ours = world.page(world.alice), "/jobs/?state=queued"
    for onward in ("home", "//evil.example/", "https://evil.example/", "/\n/evil.example", "/" + "x" * 5000):
        assert client.get("/sign-in/", {"next": onward})["Location"] == "/"
    assert client.get("/sign-in/", {"next": ours})["Location"] == ours
    assert client.post(f"/team/{world.team.pk}/switch/", {"next": ours})["Location"] == ours
