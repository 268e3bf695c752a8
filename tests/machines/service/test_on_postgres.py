"""The same behaviour on PostgreSQL: the tests that lean on the database run again, against a private server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import psycopg
import pytest

from tests.kit.postgres import Server
from tests.kit.web import ROOT, prepare, web
from webapp.core.postgres import Impatient

pytestmark = [pytest.mark.postgres, pytest.mark.slow]
DOORS = Path(__file__).parents[2] / "doors"
LOOK_EVERY = 0.05  # s; looking all the time would take the cores from those that are looked at
# Whatever locks, counts, orders, or keeps texts and numbers that a database may refuse, and every address that is read,
# of things in every state. All statements of the others were compared with those of these: what is missing are plain
# reads and writes by key.
WHOLE = ["accounts/test_tokens.py", "comparisons/test_packing.py", "comparisons/test_runs.py",
         "comparisons/test_samples.py", "core/test_reading.py", "jobs/test_queue.py", "jobs/test_priorities.py",
         "jobs/test_retention.py", "jobs/test_silent_workers.py", "live/test_opening.py", "registry/test_datasets.py",
         "registry/test_token_lengths.py", "uploads/test_sending_files.py",
         "../laws/service/test_reading_writes_nothing.py::test_no_address_writes_when_it_is_read[alice]"]  # fmt: skip
# Of these, the tests with statements of their own.
IN_PART = {
    "accounts/test_teams.py": ["test_with_a_second_owner_the_first_may_leave"],
    "comparisons/test_launching.py": [
        "test_a_page_shows_how_far_a_run_has_drifted_from_its_classifiers_card_and_that_the_machine_is_another",
        "test_lists_and_choices_tell_things_of_one_name_apart",
        "test_the_bin_hides_and_gives_back_and_a_job_is_cancelled_and_tried_again",
        "test_where_texts_are_matched_disco_on_drafts_takes_no_classifier_of_copies",
    ],
    "studies/test_studies.py": [
        "test_a_study_is_launched_from_its_form_and_slips_are_told_beside_the_field",
        "test_the_form_of_a_study_says_how_many_samples_and_how_long_before_its_launch",
        "test_the_setting_that_a_plan_advises_is_marked_and_its_headline_breaks_at_no_per_cent_sign",
    ],
    "test_pages.py": [
        "test_a_second_click_on_the_demo_leads_to_the_one_that_has_not_ended",
        "test_an_entry_is_deleted_on_its_own_page_and_restored_at_once_or_from_the_bin",
        "test_lists_search_filter_sort_and_page_by_their_address",
    ],
}
AGAIN = [*WHOLE, *(f"{module}::{test}" for module, tests in IN_PART.items() for test in tests)]
NO_STORE = ["-k", "not bucket"]  # an object store of uploads knows nothing of the database


def test_it_behaves_the_same(server: Server) -> None:
    environment = {**os.environ, "DATABASE_URL": server.url, "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *NO_STORE, *(str(DOORS / name) for name in AGAIN)],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]


def status(address: str) -> int:
    """This database has no tables, so nobody finds whose token it is."""
    request = urllib.request.Request(address, headers={"Authorization": "Bearer dh_a.b"})
    try:
        return int(urllib.request.urlopen(request, timeout=60).status)
    except urllib.error.HTTPError as refusal:
        return refusal.code


def test_many_at_once_share_a_few_connections(server: Server, tmp_path: Path) -> None:
    """PostgreSQL has a hundred for everybody."""
    most = 0
    with web(server.url, tmp_path) as address, psycopg.connect(server.url, autocommit=True) as looking:
        with ThreadPoolExecutor(60) as clients:
            asked = [clients.submit(status, f"{address}/api/v1/jobs/") for _ in range(120)]
            while wait(asked, timeout=LOOK_EVERY).not_done:
                (others,) = looking.execute(
                    "SELECT count(*) - 1 FROM pg_stat_activity WHERE datname = current_database()"
                ).fetchone() or (0,)
                most = max(most, others)
        assert {one.result() for one in asked} == {500}
    assert 0 < most < 30  # of the twenty, one may be leaving while another takes its place


def test_an_error_page_that_fails_too_keeps_no_connection(server: Server, tmp_path: Path) -> None:
    """Pages find no static files here, the error page neither. A request that gets no connection ends with 503."""
    with web(server.url, tmp_path) as address:
        pages = {status(f"{address}/join/x/") for _ in range(21)}  # the pool has 20 connections
        assert (pages, status(f"{address}/api/v1/jobs/")) == ({500}, 500)


class Hasty(Impatient):
    patience_s = 0.1


def test_a_statement_that_a_hanging_server_never_answers_closes_its_connection(server: Server) -> None:
    with Hasty.connect(server.url) as connection, server.paused():
        with pytest.raises(psycopg.OperationalError, match="said nothing"):
            connection.cursor().execute("SELECT 1")
        assert connection.closed


def test_while_the_database_hangs_or_a_row_is_locked_a_program_is_told_to_come_back(
    server: Server, tmp_path: Path
) -> None:
    token = prepare(server.url, tmp_path)

    def ask() -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"}
        try:
            with urllib.request.urlopen(urllib.request.Request(address, headers=headers), timeout=60) as answer:
                return answer.status, ""
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.load(refusal)["code"]

    with web(server.url, tmp_path) as origin:
        address = f"{origin}/api/v1/jobs/"
        assert ask() == (200, "")
        with server.paused():
            assert ask() == (503, "away")
        assert ask() == (200, "")
        with psycopg.connect(server.url) as other:
            other.execute("LOCK TABLE jobs_job")
            assert ask() == (503, "away")
        assert ask() == (200, "")
