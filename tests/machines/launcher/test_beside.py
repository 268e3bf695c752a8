"""Jobs that measure nothing do not wait behind a comparison: a niced worker of their own does them beside it."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.kit.up import DEADLINE, Up, add_pair, launched, until
from worker import gauges

pytestmark = pytest.mark.slow
MEASURING, LIGHT = "-m worker --queue cpu", "-m worker --queue light"
MOST_FILES = 2000  # in an archive: unpacking them takes a while


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    up = Up(tmp_path_factory.mktemp("data")).wait()
    add_pair(up, tmp_path_factory.mktemp("pair"))
    yield up
    up.interrupt()


@pytest.fixture(scope="module")
def token(up: Up) -> str:
    return up.token()


def zipped(count: int) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(count):
            archive.writestr(f"{number}.txt", f"prompt {number}")
    return packed.getvalue()


def sent(up: Up, token: str, content: bytes) -> str:
    """The address of an upload that a worker is to unpack."""
    sha = hashlib.sha256(content).hexdigest()
    listed = {"path": "p.zip", "size": len(content), "chunks": [sha]}
    upload = f"uploads/{up.call('uploads/', token, {'name': 'p.zip', 'files': [listed]})['id']}/"
    request = urllib.request.Request(
        f"{up.address}/api/v1/{upload}chunks/{sha}/",
        data=content,
        headers={"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"},
        method="PUT",
    )
    with urllib.request.urlopen(request, timeout=DEADLINE):
        pass
    up.call(f"{upload}complete/", token, {})
    return upload


def state(up: Up, token: str, address: str) -> str:
    return str(up.call(address, token)["state"])


def unpacking(up: Up, token: str) -> dict[str, Any]:
    """The latest job that unpacks."""
    found: dict[str, Any] = up.call("jobs/?kind=unpack&ordering=-created", token)["results"][0]
    return found


@contextmanager
def held(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def comparison_under_way(up: Up, token: str) -> Iterator[str]:
    """The address of its job. Its engine stands still meanwhile, so that it does not end."""
    job = f"jobs/{launched(up, token)['job']['id']}/"
    until(lambda: up.call(job, token)["done_count"] > 1, "a few samples")
    worker = up.pid_of(MEASURING)
    (engine,) = (pid for pid in gauges.family(worker) if "worker.engine" in up.family().get(pid, ""))
    with held(engine):
        yield job
    until(lambda: state(up, token, job) == "succeeded", "the end of the comparison")


def test_the_worker_beside_is_niced_loads_no_torch_and_keeps_no_engine(up: Up, token: str) -> None:
    until(lambda: not up.call("jobs/?queue=light&state=running", token)["count"], "rest")
    worker = up.pid_of(LIGHT)
    until(lambda: gauges.family(worker) == [worker], "the end of its engine")
    niceness = os.getpriority(os.PRIO_PROCESS, worker)
    assert niceness > os.getpriority(os.PRIO_PROCESS, up.pid_of(MEASURING))
    session = Path(f"/proc/{worker}/autogroup")
    assert not session.exists() or session.read_text().endswith(f"nice {niceness}\n")
    assert "libtorch" not in Path(f"/proc/{worker}/maps").read_text()


def test_a_killed_worker_beside_costs_an_attempt_and_no_file(up: Up, token: str) -> None:
    upload = sent(up, token, zipped(MOST_FILES))
    until(lambda: unpacking(up, token)["state"] == "running", "the unpacking")
    os.kill(up.pid_of(LIGHT), signal.SIGKILL)
    until(lambda: state(up, token, upload) == "complete", "the files of the archive")
    assert (unpacking(up, token)["attempt"], unpacking(up, token)["counted_ends"]) == (2, 0)
    assert len(up.call(upload, token)["files"]) == MOST_FILES


def test_archives_are_unpacked_or_cancelled_while_a_comparison_runs(up: Up, token: str) -> None:
    with comparison_under_way(up, token) as job:
        upload = sent(up, token, zipped(3))
        until(lambda: state(up, token, upload) == "complete", "the files of the archive")
        upload = sent(up, token, zipped(MOST_FILES))
        until(lambda: unpacking(up, token)["state"] == "running", "the unpacking")
        up.call(f"jobs/{unpacking(up, token)['id']}/cancel/", token, {})
        until(lambda: unpacking(up, token)["state"] == "cancelled", "the end of the unpacking")
        assert (state(up, token, upload), state(up, token, job)) == ("unpacking", "running")
