"""Clock of the suite: `--slowest` shows where its time goes, `--time-left` how long it still takes."""

from __future__ import annotations

import os
import resource
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import pytest

SHOWN = 50  # rows of a table
KEPT = "drafthouse/seconds"  # in pytest's cache: the seconds a test of each module took
TICKS = os.sysconf("SC_CLK_TCK")
STEP = 5  # % between two lines of progress, where they go to a file


@dataclass(frozen=True)
class Spent:
    """Time, and how often it was spent."""

    own: float = 0.0  # CPU s of the process that runs the tests
    children: float = 0.0  # CPU s of the processes it started; those that left their parent are not seen
    clock: float = 0.0  # s
    times: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Spent) -> Spent:
        """Never less than nothing: what a process took is lost when nobody waits for its end."""
        return Spent(*(max(0, mine - theirs) for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    @property
    def cpu(self) -> float:
        return self.own + self.children


def now() -> Spent:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Spent(time.process_time(), ended.ru_utime + ended.ru_stime + living(os.getpid()), time.perf_counter())


def living(process: int) -> float:
    """CPU seconds of the living descendants of a process, and of those that they waited for. 0 without a /proc."""
    total = 0.0
    for child in children(process):
        with suppress(OSError):
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(") ")[2].split()
            total += sum(map(int, fields[11:15])) / TICKS
        total += living(child)
    return total


def children(process: int) -> Iterator[str]:
    with suppress(OSError):  # a thread or a process may end at any time
        for thread in Path(f"/proc/{process}/task").iterdir():
            yield from (thread / "children").read_text().split()


class Clock:
    """Stand beside the tests, and write into each report what its phase and the fixtures in it took."""

    def __init__(self) -> None:
        self._since = now()
        self._open: list[list[Spent]] = []  # per fixture that is being made or undone: its start, and what others took
        self._fixtures: list[tuple[str, str, Spent]] = []

    def pytest_runtest_logstart(self) -> None:
        self._since = now()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        self._begin()
        try:
            return (yield)
        finally:
            self._end(fixturedef, times=1)
            fixturedef.addfinalizer(self._begin)  # the last to be added is the first to run

    def pytest_fixture_post_finalizer(self, fixturedef: pytest.FixtureDef[Any]) -> None:
        self._end(fixturedef, times=0)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        phase, self._since = now() - self._since, now()
        fixtures = [(name, scope, astuple(spent)) for name, scope, spent in self._fixtures]
        report.user_properties.append(("spent", [astuple(phase), fixtures]))
        self._fixtures.clear()
        return report

    def _begin(self) -> None:
        self._open.append([now(), Spent()])

    def _end(self, fixture: pytest.FixtureDef[Any], times: int) -> None:
        start, others = self._open.pop()
        whole = now() - start
        if self._open:
            self._open[-1][1] += whole
        name = f"{fixture.baseid}::{fixture.argname}" if fixture.baseid else fixture.argname
        self._fixtures.append((name, fixture.scope, whole - others + Spent(times=times)))


class Book:
    """Add up what the clocks of all processes wrote, and show the dearest at the end. A module pays for all of it; a
    test does not pay for fixtures that others share."""

    def __init__(self) -> None:
        self.tests, self.fixtures, self.modules = (defaultdict[str, Spent](Spent) for _ in range(3))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for phase, fixtures in (value for name, value in report.user_properties if name == "spent"):
            spent = Spent(*phase) + Spent(times=report.when == "setup")
            self.modules[module_of(report.nodeid)] += spent
            for name, scope, each in fixtures:
                self.fixtures[name] += Spent(*each)
                if scope != "function":
                    spent -= Spent(*each[:3])
            self.tests[report.nodeid] += spent

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for what in ("tests", "fixtures", "modules"):
            terminalreporter.section(f"slowest {what}, of {len(getattr(self, what))}")
            for line in table(what.removesuffix("s"), getattr(self, what)):
                terminalreporter.write_line(line)


def table(what: str, spent: Mapping[str, Spent]) -> Iterator[str]:
    """Lines of Markdown, the dearest first."""
    yield f"|    own | children |  clock | times | {what} |"
    yield "|---:|---:|---:|---:|---|"
    for name, each in sorted(spent.items(), key=lambda row: -row[1].cpu)[:SHOWN]:
        yield f"| {each.own:6.2f} | {each.children:8.2f} | {each.clock:6.2f} | {each.times:5} | {name} |"
    whole = sum(spent.values(), Spent())
    yield f"| {whole.own:6.1f} | {whole.children:8.1f} | {whole.clock:6.1f} | {whole.times:5} | all {len(spent)} |"


class Progress:
    """Show how far the run is in place of a dot per test, and which tests fail. What is left is guessed from how long
    the modules took the last time, and how fast this run is beside that one."""

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self, session: pytest.Session) -> None:
        config = session.config
        self._terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        self._cache, self._start = getattr(config, "cache", None), time.monotonic()
        self._past: dict[str, float] = self._cache.get(KEPT, {}) if self._cache else {}
        self._usual = sum(self._past.values()) / len(self._past) if self._past else 1.0
        self._total, self._weights, self._done = 0, 0.0, 0.0
        self._seconds, self._counts, self._shown = Counter[str](), Counter[str](), 0.0

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._expect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._expect(ids)

    @pytest.hookimpl(wrapper=True)
    def pytest_report_teststatus(
        self, report: pytest.TestReport
    ) -> Generator[None, tuple[str, str, Any], tuple[str, str, Any]]:
        category, _, word = yield
        return category, "", word if report.failed else ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        module = module_of(report.nodeid)
        self._seconds[module] += report.duration
        if report.failed:
            self._say(f"failed: {report.nodeid}")
        if report.when == "teardown":
            self._counts[module] += 1
            self._done += self._weight(report.nodeid)
            self._show()

    def pytest_sessionfinish(self) -> None:
        if self._terminal.isatty:
            self._terminal.rewrite("", erase=True)
            self._terminal.write("\r")
        if self._cache:
            took = {module: self._seconds[module] / count for module, count in self._counts.items()}
            self._cache.set(KEPT, self._past | took)

    def _expect(self, tests: Collection[str]) -> None:
        self._total, self._start = len(tests), time.monotonic()
        self._weights = sum(map(self._weight, tests))

    def _weight(self, test: str) -> float:
        return self._past.get(module_of(test), self._usual)

    def _show(self) -> None:
        count, elapsed = sum(self._counts.values()), time.monotonic() - self._start
        line = f"{count} of {self._total} tests{time_left(elapsed, self._done, self._weights)}"
        if self._terminal.isatty and elapsed - self._shown >= 1:
            self._shown = elapsed
            self._terminal.rewrite(line, erase=True)
        elif (
            not self._terminal.isatty and count * 100 // self._total // STEP > (count - 1) * 100 // self._total // STEP
        ):
            self._say(line)

    def _say(self, line: str) -> None:
        if self._terminal.isatty:
            self._terminal.rewrite(line, erase=True)
            self._terminal.write("\n")
        else:
            self._terminal.write_line(line)


def time_left(elapsed: float, done: float, whole: float) -> str:
    """Say how long it still takes at this pace, once a fiftieth of the work is done."""
    if done < whole / 50:
        return ""
    minutes = round(elapsed * (whole - done) / done / 60)
    return f", about {minutes} min left" if minutes else ", less than 1 min left"


def module_of(test: str) -> str:
    return test.partition("::")[0]


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("drafthouse")
    group.addoption("--slowest", action="store_true", help=f"show the {SHOWN} slowest tests, fixtures and modules")
    group.addoption("--time-left", action="store_true", help="show how far the run is in place of a dot per test")


def pytest_configure(config: pytest.Config) -> None:
    runs_tests = hasattr(config, "workerinput") or not config.getoption("numprocesses", None)
    is_whole = not hasattr(config, "workerinput")
    if config.getoption("slowest") and runs_tests:
        config.pluginmanager.register(Clock())
    if config.getoption("slowest") and is_whole:
        config.pluginmanager.register(Book())
    if config.getoption("time_left") and is_whole:
        config.pluginmanager.register(Progress())
