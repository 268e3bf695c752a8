"""Metrics of a web process whose PostgreSQL server goes away and comes back."""

from __future__ import annotations

import urllib.request
from pathlib import Path

import pytest

from tests.kit.postgres import Server
from tests.kit.up import until
from tests.kit.web import prepare, web

TOKEN = "a token for Prometheus"


@pytest.mark.postgres
def test_an_outage_of_the_database_is_told_and_its_end(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAFTHOUSE_METRICS_TOKEN", TOKEN)
    prepare(server.url, tmp_path)
    with web(server.url, tmp_path) as address:

        def read() -> str:
            """Under a name that Drafthouse does not answer for, as Prometheus does."""
            headers = {"Authorization": f"Bearer {TOKEN}", "Host": "web:8000"}
            request = urllib.request.Request(f"{address}/metrics", headers=headers)
            return str(urllib.request.urlopen(request, timeout=60).read().decode())

        def is_up() -> bool:
            return "drafthouse_database_up 1.0" in read()

        until(is_up, "the database")
        text = read()
        assert "drafthouse_queue_paused{" in text and "drafthouse_database_pool_most 20.0" in text
        with server.paused():  # it hangs: the rest is told all the same
            assert "drafthouse_database_up 0.0" in read()
        until(is_up, "the database to answer again")
        server.stop()
        until(lambda: not is_up(), "the outage to be told")
        assert "drafthouse_queue_paused{" not in read()
        server.start()
        until(is_up, "the database to be back")
