"""A refusal leaves nothing behind: after each refusal of every URL that takes something, all rows of all tables and all
files are counted."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.cache import cache
from django.db import connection, transaction

from tests.kit.addresses import address, routes
from tests.kit.everything import one_of_everything

STRANGE = str(uuid.UUID(int=1))
SHA = "0" * 64
BODIES: list[dict[str, Any]] = [
    {},
    {"name": "x", "pair": STRANGE, "dataset": STRANGE, "strategies": [{"strategy": "static"}], "kind": "plan"},
    {"name": "x", "hub_id": "../etc", "revision": "main"},
    {"name": "x", "text": '{"text": \n', "file_name": "p.jsonl"},
    {"name": "x", "files": [{"path": "../x", "size": 2, "chunks": [SHA]}]},
    {"name": "x", "role": "emperor", "scope": "all", "days": 10**9},
]


def tally(root: Path) -> dict[str, int]:
    tables = {kind._meta.label_lower: kind._meta.db_table for kind in apps.get_models()}
    with connection.cursor() as cursor:  # all in one statement: it is asked a thousand times
        cursor.execute("SELECT " + ", ".join(f'(SELECT count(*) FROM "{table}")' for table in tables.values()))
        rows = dict(zip(tables, cursor.fetchone(), strict=True))
    files = sum(path.is_file() for path in (root / "chunks").rglob("*"))
    return rows | {"files": files}


@pytest.mark.slow
@pytest.mark.parametrize("as_form", [False, True], ids=["api", "pages"])
def test_every_refusal_leaves_as_many_rows_and_files_as_there_were(world, settings, as_form):
    things = one_of_everything(world)
    client = world.page(world.alice) if as_form else world.api(world.alice)
    refused, before = 0, tally(settings.DATA_DIR)
    for method, pattern in routes():
        url = address(pattern, things)
        if method in ("GET", "DELETE") or url.startswith("/api/") == as_form or "sign-out" in url:
            continue
        for body in BODIES:
            cache.clear()
            with transaction.atomic():  # anything that was accepted is undone, so that each begins with the same rows
                answer = send(client, method, url, body, as_form)
                after = tally(settings.DATA_DIR)
                transaction.set_rollback(True)
            asked = f"{method} {url} {json.dumps(body)[:80]}"
            assert answer.status_code < 500, asked
            if answer.status_code >= 400:
                refused += 1
                assert after == before, asked
            before["files"] = after["files"]  # which are not undone
    assert refused > 100


def send(client: Any, method: str, url: str, body: dict[str, Any], as_form: bool) -> Any:
    if as_form:
        return client.post(
            url, {name: value if isinstance(value, str) else json.dumps(value) for name, value in body.items()}
        )
    kind = "application/octet-stream" if "/chunks/" in url and method == "PUT" else "application/json"
    return client.generic(method, url, json.dumps(body).encode(), content_type=kind)
