"""Comparisons on a worker again, against a private PostgreSQL server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.postgres import Server

HERE = Path(__file__).parent
# What a database decides: who gets a job, what a lease and a lock let through, which texts and numbers it takes, and
# how its absence shows. Engines that die and hang do so alike on both.
AGAIN = [
    "test_comparing.py::test_texts_and_numbers_that_no_database_would_take_are_kept_as_far_as_they_can_be",
    "test_comparing.py::test_a_lease_lost_to_another_stops_the_old_worker_and_the_next_does_only_the_rest",
    "test_comparing.py::test_what_the_engine_says_for_a_job_that_was_put_down_is_never_taken_for_the_next_ones",
    "test_comparing.py::test_the_end_of_a_job_is_written_down_when_the_database_is_back",
    "test_doctor.py::test_a_whole_installation_is_well",
    "test_doctor.py::test_a_clock_that_differs_from_the_databases_is_told",
    "test_racing.py",
    "test_the_database_stops.py",
]


@pytest.mark.slow
@pytest.mark.postgres
def test_it_behaves_the_same(server: Server) -> None:
    environment = {
        **os.environ,
        "DATABASE_URL": server.url,
        "DRAFTHOUSE_TEST_POSTGRES": str(server.home),
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *(f"{HERE}/{name}" for name in AGAIN)],
        cwd=HERE.parents[1],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
