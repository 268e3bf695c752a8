"""Clock of the suite: `--slowest` shows where its CPU time goes, `--time-left` how long it still takes."""

from __future__ import annotations

import os
import resource
import time
from collections import Counter
from collections.abc import Collection, Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

SHOWN = 50  # rows of a table
KEPT = "drafthouse/seconds"  # in pytest's cache: the seconds a test of each module took
TICKS = os.sysconf("SC_CLK_TCK")
STEP = 5  # % between two lines of progress


def cpu_seconds() -> float:
    """CPU seconds of this process, of those that it waited for, and of its living descendants."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime + living(os.getpid())


def living(process: int) -> float:
    """CPU seconds of the living descendants of a process, and of those that they waited for. 0 without a /proc."""
    total = 0.0
    with suppress(OSError):  # a thread or a process may end at any time
        for thread in Path(f"/proc/{process}/task").iterdir():
            for child in map(int, (thread / "children").read_text().split()):
                fields = Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2].split()
                total += sum(map(int, fields[11:15])) / TICKS + living(child)
    return total


class Clock:
    """Stand beside the tests, and write into each report what its phase and the fixtures made in it took."""

    def __init__(self) -> None:
        self._since, self._fixtures = 0.0, list[tuple[str, str, float]]()

    def pytest_runtest_logstart(self) -> None:
        self._since = cpu_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        start = cpu_seconds()
        try:
            return (yield)
        finally:
            name = f"{fixturedef.baseid}::{fixturedef.argname}"
            self._fixtures.append((name, fixturedef.scope, cpu_seconds() - start))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        before, self._since = self._since, cpu_seconds()
        report.user_properties.append(("spent", [max(0.0, self._since - before), [*self._fixtures]]))
        self._fixtures.clear()
        return report


class Book:
    """Add up what the clocks of all processes wrote, and show the dearest at the end. A module pays for all of it; a
    test does not pay for making fixtures that others share."""

    def __init__(self) -> None:
        self._spent = {what: Counter[str]() for what in ("tests", "fixtures", "modules")}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for own, fixtures in (value for name, value in report.user_properties if name == "spent"):
            self._spent["modules"][module_of(report.nodeid)] += own
            shared = sum(seconds for _, scope, seconds in fixtures if scope != "function")
            self._spent["tests"][report.nodeid] += own - shared
            for name, _, seconds in fixtures:
                self._spent["fixtures"][name] += seconds

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for what, spent in self._spent.items():
            terminalreporter.section(f"slowest {what} of {len(spent)}, CPU s of {sum(spent.values()):.0f}")
            for name, seconds in spent.most_common(SHOWN):
                terminalreporter.write_line(f"{seconds:7.2f} {name}")


class Progress:
    """Show how far the run is in place of a dot per test, and which tests fail. What is left is guessed from how long
    the modules took the last time, and how fast this run is beside that one."""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        self._terminal: Any = session.config.pluginmanager.get_plugin("terminalreporter")
        self._cache = getattr(session.config, "cache", None)
        self._past: dict[str, float] = self._cache.get(KEPT, {}) if self._cache else {}
        self._usual = sum(self._past.values()) / len(self._past) if self._past else 1.0
        self._seconds, self._counts = Counter[str](), Counter[str]()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._expect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._expect(ids)

    def _expect(self, tests: Collection[str]) -> None:
        self._total, self._start, self._done = len(tests), time.monotonic(), 0.0
        self._whole = sum(map(self._weight, tests))

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(self, report: pytest.TestReport) -> Generator[None, Any, tuple[str, str, Any]]:
        category, _, word = yield
        return category, "", word if report.failed else ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        module = module_of(report.nodeid)
        self._seconds[module] += report.duration
        if report.failed:
            self._terminal.write_line(f"failed: {report.nodeid}")
        if report.when == "teardown":
            before = self._counts.total()
            self._counts[module] += 1
            self._done += self._weight(report.nodeid)
            if (before + 1) * 100 // self._total // STEP > before * 100 // self._total // STEP:
                self._terminal.write_line(f"{before + 1} of {self._total} tests{self._left()}")

    def _weight(self, test: str) -> float:
        return self._past.get(module_of(test), self._usual)

    def _left(self) -> str:
        """Say how long it still takes at this pace."""
        minutes = round((time.monotonic() - self._start) * (self._whole - self._done) / self._done / 60)
        return f", about {minutes} min left" if minutes else ", less than 1 min left"

    def pytest_sessionfinish(self) -> None:
        if self._cache:
            took = {module: self._seconds[module] / count for module, count in self._counts.items()}
            self._cache.set(KEPT, self._past | took)


def module_of(test: str) -> str:
    return test.partition("::")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("drafthouse")
    group.addoption("--slowest", action="store_true", help=f"show the {SHOWN} slowest tests, fixtures and modules")
    group.addoption("--time-left", action="store_true", help="show how far the run is in place of a dot per test")


def pytest_configure(config: pytest.Config) -> None:
    is_whole = not hasattr(config, "workerinput")
    if config.getoption("slowest") and not (is_whole and config.getoption("numprocesses", None)):
        config.pluginmanager.register(Clock())
    if config.getoption("slowest") and is_whole:
        config.pluginmanager.register(Book())
    if config.getoption("time_left") and is_whole:
        config.pluginmanager.register(Progress())
