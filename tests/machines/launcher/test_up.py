"""One command starts everything, keeps it up, and stops it; whatever is killed in between, nothing is lost. Jobs that
measure nothing do not wait behind a comparison: a niced worker of their own does them beside it."""

from __future__ import annotations

import os
import random
import signal
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.kit.up import DEADLINE, Up, add_pair, launched, until
from worker import gauges
from worker.supervisor.data_folder import DataFolder, Taken

pytestmark = pytest.mark.slow
MEASURING, LIGHT = "-m worker --queue cpu", "-m worker --queue light"
TWO = [{"strategy": "static", "params": {"lookahead": 3}}, {"strategy": "threshold"}]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    up = Up(tmp_path_factory.mktemp("data")).wait()
    add_pair(up, tmp_path_factory.mktemp("pair"))
    yield up
    if up.process.poll() is None:
        up.interrupt()


@pytest.fixture(scope="module")
def token(up: Up) -> str:
    return up.token()


@pytest.mark.smoke
def test_the_first_start_has_prompts_and_a_way_in(up: Up, token: str) -> None:
    assert {d["name"] for d in up.call("datasets/", token)["results"]} >= {"Starter code", "Starter prose"}
    first = up.said.split("half an hour: ")[-1].split()[0]
    for link in (first, up.token("--sign-in")):
        assert link.startswith(f"{up.address}/enter/")
        with urllib.request.urlopen(link, timeout=DEADLINE) as page:
            assert page.status == 200


def test_nothing_listens_but_the_pages(up: Up) -> None:
    listening = {}
    for pid, command in up.family().items():
        sockets = set(open_files(pid))
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            cells = line.split()
            if cells[3] == "0A" and f"socket:[{cells[9]}]" in sockets:
                listening[command] = cells[1]
    host_and_port = {f"0100007F:{int(up.address.rpartition(':')[2]):04X}"}
    assert set(listening.values()) == host_and_port
    assert oct((up.data / "valkey").stat().st_mode)[-3:] == "700"


def open_files(pid: int) -> Iterator[str]:
    """Name the files of a process, which may end meanwhile: one that checks models does."""
    with suppress(FileNotFoundError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                yield str(file.readlink())


def test_a_second_start_is_told_who_has_the_data_folder(up: Up) -> None:
    with pytest.raises(Taken, match=f"process {up.process.pid} has it since .* and serves {up.address}"):
        DataFolder(up.data)


def test_a_comparison_posted_over_rest_runs_and_survives_kills(up: Up, token: str) -> None:
    """Each of the processes is killed once, in a drawn order, each time after more samples were finished."""
    made = launched(up, token, strategies=TWO)
    names = ["worker.engine", "-m worker --queue cpu", "valkey-server", "supervisor.web", "worker.scheduler"]
    random.Random(7).shuffle(names)

    def done() -> int:
        return int(up.patiently(f"jobs/{made['job']['id']}/", token)["done_count"])

    for number, name in enumerate(names, 1):
        until(lambda number=number: done() >= 8 * number, f"sample {8 * number}")
        os.kill(up.pid_of(name), signal.SIGKILL)

    assert up.end_of(made, token)["state"] == "succeeded", up.said
    rows = up.patiently(f"comparisons/{made['id']}/report/", token)["strategies"]
    assert [(row["sample_count"], row["audit"]["identical"]) for row in rows] == [(20, 20)] * 3
    samples = up.patiently(f"samples/?comparison={made['id']}&limit=200", token)
    assert samples["count"] == 60
    assert len({(s["run"], s["prompt"], s["repeat"]) for s in samples["results"]}) == 60
    maps = Path(f"/proc/{up.pid_of('-m worker --queue cpu')}/maps").read_text()
    assert "libtorch" not in maps, "a worker needs no torch of its own, neither its memory nor the time to load it"


# The light worker beside ---------------------------------------------------------------------------------------------


def test_the_worker_beside_is_niced_loads_no_torch_and_keeps_no_engine(up: Up, token: str) -> None:
    until(lambda: not up.call("jobs/?queue=light&state=running", token)["count"], "rest")
    worker = up.pid_of(LIGHT)
    until(lambda: gauges.family(worker) == [worker], "the end of its engine")
    niceness = os.getpriority(os.PRIO_PROCESS, worker)
    assert niceness > os.getpriority(os.PRIO_PROCESS, up.pid_of(MEASURING))
    session = Path(f"/proc/{worker}/autogroup")
    assert not session.exists() or session.read_text().endswith(f"nice {niceness}\n")
    assert "libtorch" not in Path(f"/proc/{worker}/maps").read_text()


def test_a_killed_supervisor_leaves_no_orphans_and_its_folder_free(up: Up, token: str) -> None:
    made = launched(up, token, limit=10)
    until(lambda: up.call(f"jobs/{made['job']['id']}/", token)["done_count"] > 3, "a few samples")
    up.process.kill()
    up.process.wait()
    until(lambda: not up.family(), "all of them to end")

    again = Up(up.data).wait()
    try:
        assert again.end_of(made, token)["state"] == "succeeded", again.said
    finally:
        again.interrupt()  # within five seconds, as `./drafthouse bench chaos` sees on a quiet machine
    assert again.process.returncode == 0
    assert not again.family()
