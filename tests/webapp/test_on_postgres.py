"""The same behaviour on PostgreSQL: the tests that lean on the database run again, against a private server."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

HERE = Path(__file__).parent
AGAIN = ["accounts/test_teams.py", "accounts/test_tokens.py", "comparisons", "jobs", "registry/test_datasets.py",
         "test_isolation.py", "test_pages.py", "uploads/test_sending_files.py"]  # fmt: skip


def programs() -> Path | None:
    """Where initdb and postgres lie; Debian keeps them off the PATH."""
    found = [Path(where).parent for where in [shutil.which("initdb")] if where]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in found if (folder / "initdb").exists()), None)


def wait_for(path: Path, process: subprocess.Popen[bytes]) -> None:
    """Until the server answers; it makes its socket last."""
    with socket.socket(socket.AF_UNIX) as line:
        for _ in range(200):
            assert process.poll() is None, (path.parent / "log").read_text()
            if path.exists() and line.connect_ex(str(path)) == 0:
                return
            time.sleep(0.05)  # another program starts; there is nothing to wait on but its socket
    raise AssertionError((path.parent / "log").read_text())


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """A server of our own on a Unix socket, run by nobody in particular: PostgreSQL refuses to be run by root."""
    folder = programs()
    if folder is None:
        pytest.skip("PostgreSQL is not installed here")
    home = Path(mkdtemp(prefix="dh-pg-", dir="/tmp"))  # short: a socket's path may have some hundred characters
    user = pwd.getpwnam("nobody") if os.getuid() == 0 else None
    if user:
        os.chown(home, user.pw_uid, user.pw_gid)
    as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
    options = ["--auth=trust", "--username=drafthouse", "--no-sync", "--encoding=UTF8", "--locale=C"]
    subprocess.run([folder / "initdb", "-D", home / "data", *options], check=True, capture_output=True, **as_user)
    settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={home}", "-c", "fsync=off"]
    with (home / "log").open("wb") as log:
        process = subprocess.Popen(
            [folder / "postgres", "-D", home / "data", *settings], stdout=log, stderr=log, cwd=home, **as_user
        )
    try:
        wait_for(home / ".s.PGSQL.5432", process)
        yield f"postgres://drafthouse@/postgres?host={home}"
    finally:
        process.terminate()
        process.wait(timeout=20)
        shutil.rmtree(home)


def test_it_behaves_the_same(server: str) -> None:
    environment = {**os.environ, "DATABASE_URL": server, "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", *(str(HERE / name) for name in AGAIN)],
        cwd=HERE.parents[1], env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
