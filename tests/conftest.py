"""Fixtures and settings of every test. It must not import torch: tests of the web never need it."""

import gc
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.kit.postgres import Server
from tests.programs import POSTGRES, PROGRAMS, Program, locate

# Read by torch when it is first imported, here or in a command that a test starts: with its default, one thread per
# core, small tensors and parallel tests get in each other's way.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
# Hundreds of processes import the same code. Containers often forbid to keep compiled code; then each would compile it
# again, and pytest would rewrite the assertions of every test file again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

QUICK = {"laws", "parts"}
NEEDS = {program.mark for program in PROGRAMS} | {"gpu", "peer", "slow"}
pytest_plugins = ["tests.clock"]
skipped: Counter[Program] = Counter()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", folder], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("no disk can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.fixture(scope="session")
def started_postgres() -> Iterator[Server]:
    """The PostgreSQL server of all tests of this process."""
    if locate(POSTGRES) is None:
        pytest.skip(POSTGRES.missing)
    server = Server.made()
    server.start()
    yield server
    server.remove()


@pytest.fixture
def server(started_postgres: Server) -> Server:
    """Server with a database of the test's own. The test may stop it, and then it is started for the next one."""
    if not started_postgres.is_running:
        started_postgres.start()
    server = Server(started_postgres.home)
    server.url = server.database()
    return server


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Modules and tests stay to the end. The garbage collector took 40 % of the CPU time of collecting them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    ours = parser.getgroup("drafthouse")
    ours.addoption("--quick", action="store_true", help="run laws, parts and smoke tests alone")
    ours.addoption("--deep", action="store_true", help="draw thousands of cases for tests/laws, others each time")
    ours.addoption("--case", default="", metavar="JSON", help="hold a law against this case alone")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Modules with slow tests come first: else the longest of them would begin last, and one core wait for it."""
    if config.getoption("quick"):
        config.hook.pytest_deselected(items=[item for item in items if not is_quick(item)])
        items[:] = filter(is_quick, items)
    long = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in long)


def is_quick(item: pytest.Item) -> bool:
    """Tell whether a test is a law, a part or a smoke test, and neither slow nor in need of another program."""
    if item.get_closest_marker("smoke"):
        return True
    needs = {mark.name for mark in item.iter_markers()} | set(getattr(item, "fixturenames", ()))
    return not needs & NEEDS and bool(QUICK & {*item.path.parts})


def pytest_runtest_setup(item: pytest.Item) -> None:
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # a benchmark in an earlier test may have taken more, which then wait for each other
    for program in PROGRAMS:
        if item.get_closest_marker(program.mark) and locate(program) is None:
            pytest.skip(program.missing)
    if item.get_closest_marker("gpu"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("needs a CUDA device")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for program in PROGRAMS:
        if report.skipped and program.missing in str(report.longrepr):
            skipped[program] += 1


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail on a build machine where tests were skipped. The processes of xdist see only some of them."""
    is_whole = not hasattr(session.config, "workerinput")
    if skipped and is_whole and os.environ.get("CI") == "true" and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say after pytest's own summary which tests did not run, and what they need."""
    if hasattr(config, "workerinput"):
        return
    for program, count in skipped.items():
        tests = "1 test was" if count == 1 else f"{count} tests were"
        fails = " With CI=true that is a failure." if os.environ.get("CI") == "true" else ""
        sys.stdout.write(f"{tests} skipped: {program.missing}.{fails} {program.advice}\n")
