"""One format for all that is logged, and no secret in it."""

from __future__ import annotations

import http.client
import json
import logging
import os
import subprocess
import sys
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from tests.kit import make
from tests.kit.live import session_of
from tests.kit.processes import until
from tests.kit.web import web
from webapp.accounts import services
from webapp.accounts.models import Role, Scope
from webapp.core import logs
from webapp.core.logs import redact

ROOT = Path(__file__).parents[3]
PATIENCE = 60


SECRETS = {
    "Gone: /join/abc-123_x/": "Gone: /join/…/",
    "Gone: /shared/abc?x=1": "Gone: /shared/…?x=1",
    "GET /shared/<str:secret>/ 200": "GET /shared/<str:secret>/ 200",
    "/ws/comparisons/1/?ticket=abc-d&x=1": "/ws/comparisons/1/?ticket=…&x=1",
    "Bearer dh_0011.secret-part and more": "Bearer dh_0011.… and more",
    "Authorization: Bearer abc": "Authorization: Bearer …",
    "Cookie: dh_session=abc; dh_csrf=def": "Cookie: dh_session=…; dh_csrf=…",
    "postgres://drafthouse:p@ss/w#rd@db:5432/x": "postgres://drafthouse:…@db:5432/x",
    "key AKIAIOSFODNN7EXAMPLE": "key AKIA…",
    "https://b.s3/x?X-Amz-Signature=abc&X-Amz-Date=1": "https://b.s3/x?X-Amz-Signature=…&X-Amz-Date=…",
    '{"password": "abc def"}': '{"password": "… def"}',
    "12 tokens/s, and the secret of it": "12 tokens/s, and the secret of it",
}


def test_what_looks_like_a_secret_is_left_out():
    assert {line: redact(line) for line in SECRETS} == SECRETS
    assert {told: redact(told) for told in SECRETS.values()} == {told: told for told in SECRETS.values()}


def test_what_is_known_to_be_a_secret_is_left_out_wherever_it_stands(monkeypatch):
    monkeypatch.setattr(logs, "_values", set())
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG")
    monkeypatch.setenv("SOME_URL", "postgres://me:p%40ssword@db/x")
    monkeypatch.setenv("POSTGRES_PASSWORD_FILE", "/run/secrets/db")
    logs.configuration("")
    line = "boto said wJalrXUtnFEMI/K7MDENG, psycopg p@ssword, libpq p%40ssword, from /run/secrets/db"
    assert redact(line) == "boto said …, psycopg …, libpq …, from /run/secrets/db"


def record(**more: Any) -> logging.LogRecord:
    return logging.LogRecord("drafthouse.x", logging.INFO, "x.py", 1, "of %s", ("/join/abc/",), None, **more)


def test_json_is_one_object_a_line_with_fields_beside_the_message_and_exceptions_are_redacted_too(monkeypatch):
    monkeypatch.setattr(logs, "_process", {})
    logs.name_process("worker", worker="cpu-1")
    line = record()
    line.status, line.link, line.request = 200, "/join/abc/", object()
    with logs.fields(job=uuid.UUID(int=1), attempt=2):
        logs.note(team=7)
        told = json.loads(logs.Json().format(line))
    assert (told["level"], told["logger"], told["message"]) == ("INFO", "drafthouse.x", "of /join/…/")
    known = {"service": "worker", "worker": "cpu-1", "job": str(uuid.UUID(int=1)), "attempt": 2, "team": 7}
    assert {name: told.get(name) for name in known} == known
    assert (told["status"], told["link"]) == (200, "/join/…/") and "request" not in told
    logs.note(team=8)  # nothing is in hand
    assert {"job", "team"} & json.loads(logs.Json().format(record())).keys() == set()
    with pytest.raises(ValueError, match="DRAFTHOUSE_LOG is 'xml'; it can be json"):
        logs.configuration("xml")
    try:
        raise ValueError("redis://:hunter2@valkey")
    except ValueError:
        failed = record()
        failed.exc_info = sys.exc_info()
    for form in (logs.LineFormatter(), logs.Json()):
        assert "hunter2" not in form.format(failed) and "ValueError" in form.format(failed)


def test_lines_of_an_engine_are_objects_in_a_log_of_objects_and_read_alike(monkeypatch):
    try:
        raise ValueError("of the engine")
    except ValueError:
        failed = record(sinfo=None)
        failed.exc_info = sys.exc_info()
    line = logs.Json().format(failed)
    assert logs.said(line)[0] == "of /join/…/" and logs.said(line)[-1] == "ValueError: of the engine"
    assert logs.said("[1, 2]\n") == ["[1, 2]"] and logs.said("Killed\n") == ["Killed"]
    monkeypatch.setenv("DRAFTHOUSE_LOG", "json")
    assert logs.pass_on("engine", line) == line
    told = json.loads(logs.pass_on("engine", "Segmentation fault\n"))
    assert (told["service"], told["message"]) == ("engine", "Segmentation fault")
    monkeypatch.setenv("DRAFTHOUSE_LOG", "")
    assert logs.pass_on("engine", "Segmentation fault\n") == "engine: Segmentation fault"


def test_what_ends_a_process_is_one_object_too():
    program = (
        "from webapp.core import logs; import logging.config as c, warnings; c.dictConfig(logs.configuration('json'))"
    )
    program += "; logs.name_process('web'); warnings.warn('old'); raise ValueError('many\\nlines')"
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    warned, failed = map(json.loads, ended.stderr.splitlines())
    assert (warned["level"], failed["level"], failed["service"]) == ("WARNING", "CRITICAL", "web")
    assert "ValueError: many\nlines" in failed["exception"]


def ask(address: str, path: str, method: str = "GET", body: str | None = None, **headers: str) -> None:
    line = http.client.HTTPConnection(address, timeout=PATIENCE)
    line.request(method, path, body, headers)
    line.getresponse().read()
    line.close()


def knock(address: str, cookie: str) -> None:
    headers = {"Cookie": cookie}
    origin = f"http://{address.split('/')[0]}"
    with suppress(WebSocketException), connect(f"ws://{address}", additional_headers=headers, origin=origin) as line:
        line.send('{"t": "follow"}')
        line.recv(PATIENCE)


def send_all(address: str, of: dict[str, str], comparison: Any) -> None:
    """Every secret, by every way in which it may come, right and almost right."""
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    share, link, session = of["share"], of["link"], f"dh_session={of['session']}"
    for path in (f"shared/{share}/", f"shared/{share}/events/", f"shared/{share}x/", f"join/{of['invitation']}/",
                 f"join/{of['invitation']}x/", f"enter/{link}/", f"x/?ticket={link}"):  # fmt: skip
        ask(address, f"/{path}")
        ask(address, f"/{path}", "POST", "username=dora&password=a+secret+password", **form)
    ask(address, f"/shared/{share}/", Host="evil.example")
    for spelled in (f"dh_{of['key']}.{of['token']}", f"dh_{of['key']}.{of['token']}x"):
        ask(address, "/api/v1/tickets/", "POST", Authorization=f"Bearer {spelled}")
    ask(address, "/api/v1/teams/", "POST", '{"password": "a secret password"}', Cookie=session)
    for path in (f"shared/{share}/", f"shared/{share}x/?ticket={link}", f"comparisons/{comparison.pk}/?ticket={link}",
                 f"comparisons/{comparison.pk}/", f"nothing/{share}/"):  # fmt: skip
        knock(f"{address}/ws/{path}", session)


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif("sqlite" not in django_settings.DATABASES["default"]["ENGINE"], reason="hands on a file")
def test_no_secret_of_any_kind_reaches_the_log_of_a_real_server(world, tmp_path):
    by = world.actor(world.alice)
    comparison = make.comparison(by)
    share = world.api(world.alice).post(f"/api/v1/comparisons/{comparison.pk}/shares/", {}).json()["link"]
    token, spelled = services.create_token(name="ci", scope=Scope.READ, days=1, by=by)
    secrets = {
        "share": share.rstrip("/").rpartition("/")[2],
        "invitation": services.invite(role=Role.VIEWER, days=1, by=by)[1],
        "link": services.issue_sign_in_link(user=world.alice),
        "session": session_of(world.alice),
        "token": spelled.partition(".")[2],
    }
    broker = "redis://:brokers-password@127.0.0.1:1/0"  # nobody listens: every library complains
    aws = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-K7MDENG"}
    log, database = tmp_path / "log", f"sqlite:///{connection.settings_dict['NAME']}"
    data = Path(os.environ["DRAFTHOUSE_DATA"])  # where the secrets of these tests lie
    with web(database, data, log, REDIS_URL=broker, DRAFTHOUSE_LOG="json", **aws) as server:
        address = server.removeprefix("http://")
        send_all(address, {**secrets, "key": token.key}, comparison)
        ask(address, "/api/v1/me/", Authorization=f"Bearer {spelled}", **{"X-Request-ID": "mine-1234"})
        until(lambda: "socket of a comparison closed" in log.read_text(), "the end of a socket to be logged")
    written = log.read_text()
    others = ("secret password", "secret+password", "brokers-password", *aws.values(),
              django_settings.SECRET_KEY, django_settings.TOKEN_PEPPER)  # fmt: skip
    assert [secret for secret in (*secrets.values(), *others) if secret in written] == []
    lines = [json.loads(line) for line in written.splitlines()]
    assert any("GET /shared/<str:secret>/events/ 200 " in line["message"] for line in lines), written
    told = next(line for line in lines if line.get("request_id") == "mine-1234" and "route" in line)
    known = {"service": "web", "method": "GET", "status": 200, "route": "/api/v1/me/", "user": token.user_id}
    known |= {"team": str(token.team_id), "token": token.key}
    assert {name: str(told.get(name)) for name in known} == {name: str(value) for name, value in known.items()}
    assert told["ms"] > 0
