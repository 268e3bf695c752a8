"""Comparisons on a worker again, against a private PostgreSQL server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.webapp.postgres import Server
from tests.webapp.test_on_postgres import server  # noqa: F401  a fixture

HERE = Path(__file__).parent
AGAIN = ["test_comparing.py", "test_racing.py", "test_the_database_stops.py"]


@pytest.mark.slow
@pytest.mark.postgres
def test_it_behaves_the_same(server: Server) -> None:  # noqa: F811
    environment = {
        **os.environ,
        "DATABASE_URL": server.url,
        "DRAFTHOUSE_TEST_POSTGRES": str(server.home),
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-k", "not hangs", *(HERE / name for name in AGAIN)],
        cwd=HERE.parents[1],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
