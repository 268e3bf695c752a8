"""A worker in this very process, with a real engine process, a real database and a small random pair."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.db import close_old_connections

from tests.kit import make
from tests.kit.processes import until
from tests.machines.worker.orders import Staged, is_awaited
from webapp.accounts import services as accounts
from webapp.accounts.actor import Actor, of_user
from webapp.accounts.models import User
from webapp.comparisons import services as comparisons
from webapp.comparisons.models import Comparison
from webapp.registry import prompt_sets
from webapp.registry import services as registry
from webapp.registry.models import Dataset, LanguageModel, Pair, Readiness
from worker import gauges
from worker.engine_process import EngineProcess
from worker.job_loop import JobLoop
from worker.jobs.comparison.messages import SampleDecoded
from worker.messages import JobProgress, Order, Reply

WHOLE = (SampleDecoded, JobProgress)


class Stage(EngineProcess):
    """A real engine process that stands still at a chosen moment, so that what is to happen half-way does happen
    half-way, however fast or slow the machine is."""

    def __init__(self) -> None:
        super().__init__()
        self._left, self._action, self._awaited = 0, None, WHOLE

    def after(self, samples: int, action: Callable[[], Any], awaited: tuple[type[Reply], ...] = WHOLE) -> None:
        """From the next order on, stop it when so many more samples are decoded, or steps of a study done, or other
        replies were said. When they are written down, do the deed. It goes on when it is told to, or to cancel."""
        self._left, self._action, self._awaited = samples, action, awaited

    def go_on(self) -> None:
        with suppress(ProcessLookupError):  # it was killed, which the worker finds out on its own
            os.kill(self.pid, signal.SIGCONT)

    def submit(self, order: Order, allowed: int | None = None) -> None:
        super().submit(Staged(order, self._awaited, self._left) if self._action else order, allowed)

    def receive(self, timeout: float) -> Reply | None:
        if self._action and not self._left:  # whoever asks for the next reply has written down all before it
            until(lambda: gauges.is_stopped(self.pid), "the engine to stop itself")
            action, self._action = self._action, None
            action()
        reply = super().receive(timeout)
        if self._action and is_awaited(reply, self._awaited):
            self._left -= 1
        return reply

    def cancel(self) -> None:
        self.go_on()
        super().cancel()


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """The files of a target and a draft."""
    from tests.kit.models import LLAMA, save

    folder = tmp_path_factory.mktemp("pair")
    save(folder / "target", "llama", **LLAMA)
    save(folder / "draft", "llama", seed=1, **{**LLAMA, "num_hidden_layers": 1})
    return {
        role: {path.name: path.read_bytes() for path in sorted((folder / role).iterdir())}
        for role in ("target", "draft")
    }


@pytest.fixture(scope="session")
def engine() -> Iterator[Stage]:
    """One for all tests: starting it takes seconds."""
    engine = Stage()
    yield engine
    engine.end()


@pytest.fixture
def team(transactional_db: None) -> Actor:
    alice = User.objects.create(username="alice", password="!")
    accounts.create_team(name="lab", by=alice)
    return of_user(alice)


@pytest.fixture
def make_worker(engine: Stage) -> Iterator[Callable[..., JobLoop]]:
    made = []

    def make_one(name: str = "w1", queue: str = "cpu") -> JobLoop:
        job_loop = JobLoop(name, queue)
        job_loop.engine = engine
        job_loop.begin()
        made.append(job_loop)
        return job_loop

    yield make_one
    for job_loop in made:
        job_loop.stop()
        job_loop.pulse.join()
    close_old_connections()


def model(by: Actor, files: dict[str, bytes], name: str) -> LanguageModel:
    """One that a worker has found to be sound."""
    upload = make.upload(by, files, name)
    return LanguageModel.objects.create(
        team=by.home, name=name, source="upload", upload=upload, state=Readiness.READY, facts={}
    )


@pytest.fixture
def checked(
    team: Actor, make_worker: Callable[..., JobLoop], checkpoints: dict[str, dict[str, bytes]]
) -> Callable[..., LanguageModel]:
    """Have a worker check a model with some of its files changed, and return it as it is then."""

    def check(files: dict[str, bytes] | None = None) -> LanguageModel:
        upload = make.upload(team, checkpoints["draft"] if files is None else files)
        found = registry.add_model(name="one", upload=upload, by=team)
        make_worker(queue="light").look()
        found.refresh_from_db()
        return found

    return check


@pytest.fixture
def pair(team: Actor, checkpoints: dict[str, dict[str, bytes]]) -> Pair:
    target, draft = (model(team, checkpoints[role], role) for role in ("target", "draft"))
    return Pair.objects.create(team=team.home, name="pair", target=target, draft=draft)


def prompts(by: Actor, texts: list[str]) -> Dataset:
    return prompt_sets.add_dataset(name="prompts", file_name="prompts.txt", text="\n".join(texts), by=by)


@pytest.fixture
def launch(team: Actor, pair: Pair) -> Callable[..., Comparison]:
    def launch_one(texts: int | list[str] = 2, tokens: int = 16, pair: Pair = pair, **changes: Any) -> Comparison:
        lines = [f"w{n + 1} w{n + 2} w{n + 3}" for n in range(texts)] if isinstance(texts, int) else texts
        asked = {
            "strategies": [{"strategy": "static", "params": {"lookahead": 3}}, {"strategy": "threshold"}],
            "sampling": {"max_new_tokens": tokens, "ignore_eos": True},
            **changes,
        }
        return comparisons.launch(name="one", by=team, pair=pair, dataset=prompts(team, lines), **asked)

    return launch_one
