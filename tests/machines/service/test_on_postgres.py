"""The same behaviour on PostgreSQL: the tests that lean on the database run again, against a private server; and what a
web process does while that hangs, is locked, is stopped or has no tables."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import psycopg
import pytest

from tests.kit.postgres import Server
from tests.kit.processes import until
from tests.kit.web import ROOT, ask, prepare, web
from webapp.core.postgres import Impatient

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
TESTS = Path(__file__).parents[2]
LOOK_EVERY = 0.05  # s; looking all the time would take the cores from those that are looked at
METRICS = "a token for Prometheus"
# Whatever locks, counts, orders, or keeps texts and numbers that a database may refuse, and every address that is read,
# of things in every state. Of a worker: what a lease lets through, and how the database's absence shows.
DOORS = ["accounts/test_teams.py", "accounts/test_tokens.py", "comparisons/test_runs.py", "core/test_finding.py",
         "jobs/test_priorities.py", "jobs/test_queue.py", "jobs/test_ends.py", "entries/test_purge.py",
         "registry/test_datasets.py::test_prompts_go_in_by_short_transactions",
         "uploads/test_sending_files.py::test_the_sweep_removes_what_nobody_uses_and_only_that"]  # fmt: skip
COMPARING = ["texts_and_numbers_that_no_database_would_take_are_kept_as_far_as_they_can_be",
             "a_lease_lost_to_another_stops_the_old_worker_and_the_next_does_only_the_rest",
             "what_the_engine_says_for_a_job_that_was_put_down_is_never_taken_for_the_next_ones",
             "the_end_of_a_job_is_written_down_when_the_database_is_back",
             "every_job_is_claimed_once_and_every_racer_claims_some",
             "after_the_database_was_stopped_the_worker_goes_on_where_it_was"]  # fmt: skip
AGAIN = [*(f"doors/{name}" for name in DOORS),
         "laws/service/test_reading_writes_nothing.py::test_no_address_writes_when_it_is_read[alice]",
         *(f"machines/worker/test_comparing.py::test_{name}" for name in COMPARING),
         "machines/worker/test_doctor.py::test_a_whole_installation_is_well",
         "machines/worker/test_doctor.py::test_a_clock_that_differs_from_the_databases_is_told"]  # fmt: skip
NO_STORE = ["-k", "not bucket"]  # an object store of uploads knows nothing of the database


def test_it_behaves_the_same(server: Server) -> None:
    environment = {**os.environ, "DATABASE_URL": server.url, "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    environment["DRAFTHOUSE_TEST_POSTGRES"] = str(server.home)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *NO_STORE, *(str(TESTS / name) for name in AGAIN)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def database_of(address: str) -> str:
    """Return why the database is not ready, as probes are told."""
    return str(json.loads(ask(f"{address}/readyz")[1])["parts"]["database"]["reason"])


def test_many_at_once_share_a_few_connections_also_where_there_are_no_tables(server: Server, tmp_path: Path) -> None:
    """PostgreSQL has a hundred for everybody. Pages find no static files here, the error page neither."""
    most = 0
    with web(server.url, tmp_path) as address, psycopg.connect(server.url, autocommit=True) as looking:

        def others() -> int:
            (count,) = looking.execute(
                "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"
            ).fetchone() or (0,)
            return int(count)

        assert "migrations are not applied" in database_of(address)
        with ThreadPoolExecutor(60) as clients:
            asked = [clients.submit(ask, f"{address}/api/v1/jobs/") for _ in range(120)]
            while wait(asked, timeout=LOOK_EVERY).not_done:
                most = max(most, others())
        assert {one.result()[0] for one in asked} == {500}
        assert 0 < most < 30  # of the twenty, one may be leaving while another takes its place
        assert {ask(f"{address}/join/x/")[0] for _ in range(21)} == {500}  # an error page that fails keeps none
        for _ in range(25):  # nor does a probe
            database_of(address)
        assert others() < 25
        with ThreadPoolExecutor(40) as readers, server.paused():  # in this order: who reads waits until it goes on
            stuck = [readers.submit(ask, f"{address}/shared/unknown/") for _ in range(40)]  # more than take turns
            assert database_of(address).startswith("The database does not answer")
            assert not any(reader.done() and reader.result()[0] == 200 for reader in stuck)
            assert ask(f"{address}/healthz") == (200, "ok\n")


class Hasty(Impatient):
    patience_s = 0.1


def test_a_statement_that_a_hanging_server_never_answers_closes_its_connection(server: Server) -> None:
    with Hasty.connect(server.url) as connection, server.paused():
        with pytest.raises(psycopg.OperationalError, match="said nothing"):
            connection.cursor().execute("SELECT 1")
        assert connection.closed


def test_while_the_database_hangs_is_locked_or_is_stopped_programs_are_told_to_come_back_and_metrics_go_on(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAFTHOUSE_METRICS_TOKEN", METRICS)
    token = prepare(server.url, tmp_path)
    with web(server.url, tmp_path) as address:

        def jobs() -> tuple[int, str]:
            status, body = ask(f"{address}/api/v1/jobs/", token)
            return status, json.loads(body).get("code", "")

        def metrics() -> str:
            """Under a name that Drafthouse does not answer for, as Prometheus does."""
            return ask(f"{address}/metrics", METRICS, host="web:8000")[1]

        def is_up() -> bool:
            return "drafthouse_database_up 1.0" in metrics()

        assert jobs() == (200, "")
        until(is_up, "the database")
        assert "drafthouse_queue_paused{" in metrics() and "drafthouse_database_pool_most 20.0" in metrics()
        with server.paused():
            assert jobs() == (503, "away")
            assert "drafthouse_database_up 0.0" in metrics()
        assert jobs() == (200, "")
        with psycopg.connect(server.url) as other:
            other.execute("LOCK TABLE jobs_job")
            assert jobs() == (503, "away")
        assert jobs() == (200, "")
        server.stop()
        assert database_of(address) == "The database does not answer (OperationalError)."
        until(lambda: not is_up(), "the outage to be told")
        assert "drafthouse_queue_paused{" not in metrics()
        server.start()
        until(is_up, "the database to be back")
