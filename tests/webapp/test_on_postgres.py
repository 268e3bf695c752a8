"""The same behaviour on PostgreSQL: the tests that lean on the database run again, against a private server."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.webapp.postgres import Server, programs

HERE = Path(__file__).parent
AGAIN = ["accounts/test_teams.py", "accounts/test_tokens.py", "comparisons", "jobs", "registry/test_datasets.py",
         "studies", "test_isolation.py", "test_pages.py", "uploads/test_sending_files.py"]  # fmt: skip


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    if programs() is None:
        pytest.skip("PostgreSQL is not installed here")
    server = Server.made()
    server.start()
    yield server
    server.remove()


def test_it_behaves_the_same(server: Server) -> None:
    environment = {**os.environ, "DATABASE_URL": server.url, "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *(str(HERE / name) for name in AGAIN)],
        cwd=HERE.parents[1], env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
