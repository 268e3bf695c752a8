"""A real Chromium on a real server with a real Valkey. A fake worker writes golden traces through the same services
that workers use."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django.test import Client

from decoding.choice import parse_choices
from decoding.measure.sample import Audit
from decoding.trace.events import from_dict
from tests.golden.record import FOLDER, name_of, summed
from tests.kit import make
from tests.kit.browser import PATIENCE
from tests.kit.live import address, layer, valkey  # noqa: F401
from tests.programs import CHROMIUM, lend_playwright_a_node, locate
from webapp.comparisons import services, trace
from webapp.comparisons.models import Comparison, Run
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry.models import Prompt

ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
ENGLISH = {
    **os.environ,
    "LANG": "en_US.UTF-8",
}  # under LANG=C.UTF-8 a headless shell names a language that Intl refuses
OFFLINE = "net::ERR_INTERNET_DISCONNECTED"  # what Chromium itself says while there is no network
STRATEGIES = ("autoregressive", "static:4", "heuristic:5", "threshold:0.4")
EXPECTED = json.loads((FOLDER / "expected.json").read_text())


class Chromium:
    """The browser of this folder's tests, each of which opens contexts of its own."""

    def __init__(self) -> None:
        self._open, self._browser = ExitStack(), None

    def browser(self) -> Any:
        if self._browser is None:
            from playwright.sync_api import expect, sync_playwright

            lend_playwright_a_node()
            expect.set_options(timeout=PATIENCE * 1000)
            playwright = self._open.enter_context(sync_playwright())
            started = playwright.chromium.launch(executable_path=locate(CHROMIUM), args=ARGUMENTS, env=ENGLISH)
            self._open.callback(started.close)
            # Playwright keeps a loop in this thread, and it is not Django's.
            os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
            self._open.callback(os.environ.pop, "DJANGO_ALLOW_ASYNC_UNSAFE")
            self._browser = started
        return self._browser

    def end(self) -> None:
        self._open.close()
        self._browser = None


CHROMIUM_OF_ALL = Chromium()


@pytest.fixture(scope="module")
def chromium() -> Any:
    return CHROMIUM_OF_ALL.browser()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the browser with the last test of this folder: others need a thread without a loop."""
    if nextitem is None or Path(__file__).parent not in nextitem.path.parents:
        CHROMIUM_OF_ALL.end()


@pytest.fixture
def new_page(chromium: Any) -> Iterator[Callable[..., Any]]:
    """Open an empty page in a context of its own. Any complaint of a console against a page fails the test."""
    complaints: list[str] = []

    def opened(**options: Any) -> Any:
        page = chromium.new_context(**options).new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield opened
    for context in chromium.contexts:
        context.close()
    assert [complaint for complaint in complaints if OFFLINE not in complaint] == []


@pytest.fixture
def open_page(address: str, new_page: Callable[..., Any], world: Any) -> Callable[..., Any]:  # noqa: F811
    """Open a page in Bob's browser. Pages come after their server, so they are closed before it stops."""

    def opened(path: str, **options: Any) -> Any:
        client, page = Client(), new_page(**options)
        client.force_login(world.bob)
        page.context.add_cookies([{"name": "dh_session", "value": client.cookies["dh_session"].value, "url": address}])
        page.goto(address + path)
        return page

    return opened


@pytest.fixture
def hands(transactional_db: Any) -> Iterator[Callable[..., Any]]:
    """Act in a thread of its own, because Django must not meet Playwright's loop."""
    with ThreadPoolExecutor(1) as pool:
        yield lambda act, *arguments, **named: pool.submit(act, *arguments, **named).result()
        pool.submit(connections.close_all).result()


class Worker:
    """A worker that decodes by playing golden traces."""

    def __init__(self, does: Callable[..., Any], ask: Callable[[], Comparison]) -> None:
        self.does = does
        self.comparison = does(ask)

    def claim(self) -> None:
        self.job = self.does(jobs.claim, worker="w1", queues=["cpu"])
        self.left = self.does(self._remaining)

    def _remaining(self) -> list[tuple[Prompt, int, Run]]:
        groups = make.remaining(self.comparison)
        return [(prompt, repeat, run) for prompt, repeat, runs in groups for run in runs]

    def begin(self) -> Sample:
        prompt, repeat, run = self.left.pop(0)
        return Sample(self, run, prompt, repeat)

    def begin_together(self, label: str) -> list[Sample]:
        """Begin all samples of one run: under load they are decoded at once."""
        its = [one for one in self.left if one[2].label == label]
        self.left = [one for one in self.left if one[2].label != label]
        return [Sample(self, run, prompt, repeat) for prompt, repeat, run in its]

    def finish_all(self) -> None:
        while self.left:
            self.begin().finish()
        self.does(jobs.succeed, job=self.job)


class Sample:
    def __init__(self, worker: Worker, run: Run, prompt: Prompt, repeat: int) -> None:
        self.worker, self.run, self.prompt, self.repeat = worker, run, prompt, repeat
        self.name = name_of(run.choice.settings)
        lines = (FOLDER / f"{self.name}.jsonl").read_text().splitlines()
        self.events = [json.loads(line) for line in lines]
        self.tokens = EXPECTED[self.name]["tokens"]
        self.written = 0
        self.words = {token: f" w{token}" for token in range(24)}
        self.row = worker.does(
            services.begin_sample, job=worker.job, run=run, prompt=prompt, repeat=repeat, device="cpu"
        )

    def write(self, upto: int) -> None:
        part, first = self.events[self.written : upto], self.written + 1
        self.written = min(upto, len(self.events))
        words = self.words if first == 1 else {}
        self.worker.does(trace.append, sample=self.row, first_seq=first, events=part, words=words)

    def finish(self) -> None:
        self.write(len(self.events))
        sample = dataclasses.replace(
            summed([from_dict(event) for event in self.events], self.run.choice.settings, self.tokens),
            strategy=self.run.label,
            load=self.run.load,
            prompt=self.prompt.name,
            category=self.prompt.category,
            repeat=self.repeat,
            audit=Audit("identical"),
        )
        self.worker.does(
            services.finish_sample,
            job=self.worker.job,
            sample=self.row,
            last_seq=len(self.events),
            numbers=json.loads(json.dumps(sample.to_dict())),
        )


@pytest.fixture
def employ(hands: Callable[..., Any]) -> Callable[..., Worker]:
    """A worker for the comparison that a function finds or makes."""

    def one(ask: Callable[[], Comparison]) -> Worker:
        worker = Worker(hands, ask)
        hands(lambda: Job.objects.exclude(pk=worker.comparison.job.pk).delete())
        return worker

    return one


@pytest.fixture
def hire(employ: Callable[..., Worker], world: Any) -> Callable[..., Worker]:
    """A worker for a comparison of these strategies, with these loads."""

    def one(*labels: str, **load: Any) -> Worker:
        choices = parse_choices(",".join(labels))
        strategies = [{"strategy": choice.strategy, "params": dict(choice.params)} for choice in choices]
        return employ(lambda: make.comparison(world.actor(world.bob), strategies=strategies, **load))

    return one


@pytest.fixture
def worker(hire: Callable[..., Worker]) -> Worker:
    return hire(*STRATEGIES)


@pytest.fixture
def ended(worker: Worker) -> Worker:
    """A worker that has decoded all of its comparison."""
    worker.claim()
    worker.finish_all()
    return worker
