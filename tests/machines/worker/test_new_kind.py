"""A new kind of job is one new file in `worker/jobs`. Here it lies in a copy of the tree, for worker and engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from rest_framework.test import APIClient

import worker.jobs
from tests.machines.worker.conftest import Stage, prompts
from webapp.accounts.actor import Actor
from webapp.jobs import line, services
from webapp.jobs.kinds import Kind
from webapp.jobs.models import Job
from worker import leash

COUNT_PROMPTS = '''
"""Count the prompts of a data set."""

from __future__ import annotations

from dataclasses import dataclass

from webapp.jobs.kinds import Kind
from worker.messages import JobProgress, Order

KIND = Kind("count-prompts", "Count prompts", parts="prompts", is_light=True, is_sized=True)


@dataclass(frozen=True, slots=True)
class CountPrompts(Order):
    texts: list[str]

    def carry_out(self, residents, emit, cancelled):
        for number, _ in enumerate(self.texts, 1):
            emit(JobProgress("counting", number, len(self.texts), "", {}, (number, len(self.texts))))


def work(attempt):
    from webapp.jobs import services as jobs
    from webapp.registry.models import Dataset

    dataset = attempt.insist(lambda: Dataset.objects.get(pk=attempt.job.arguments["dataset"]))
    texts = attempt.insist(lambda: list(dataset.prompts.values_list("text", flat=True)))
    for _ in attempt.reports(CountPrompts(texts)):
        pass
    attempt.insist(lambda: jobs.note(job=attempt.job, sentence=f"{dataset.name} has {len(texts)} prompts."))
'''


@pytest.fixture
def kinds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder `worker/jobs` of a tree that is like ours, and where a file may be added."""
    root, ours = tmp_path / "tree", leash.ROOT
    kinds = root / "worker" / "jobs"
    kinds.mkdir(parents=True)
    packages = (ours / name for name in ("webapp", "decoding", "tests"))
    for there in (*ours.glob("worker/*"), *ours.glob("worker/jobs/*"), *packages):
        if not (here := root / there.relative_to(ours)).exists():
            here.symlink_to(there)
    monkeypatch.setattr(leash, "ROOT", root)
    monkeypatch.setattr(worker.jobs, "__path__", [str(kinds)])
    yield kinds
    for name in {path.stem for path in kinds.glob("*.py") if not path.is_symlink()}:
        sys.modules.pop(f"worker.jobs.{name}", None)


@pytest.fixture
def engine(kinds: Path) -> Iterator[Stage]:
    """A fresh one, from that tree."""
    engine = Stage()
    yield engine
    engine.end()


@pytest.fixture
def launched(kinds: Path, team: Actor) -> Job:
    (kinds / "count_prompts.py").write_text(COUNT_PROMPTS)
    kind: Kind = import_module("worker.jobs.count_prompts").KIND
    arguments = {"dataset": str(prompts(team, ["w1", "w2", "w3"]).pk)}
    return services.enqueue(kind=kind, title="Count them", by=team, total=3, arguments=arguments)


def shown(job: Job, by: Actor, *names: str) -> list[Any]:
    client = APIClient()
    client.force_login(by.user)
    found = client.get(f"/api/v1/jobs/{job.pk}/").json()
    return [found[name] for name in names]


def test_one_new_file_is_launched_shown_and_done_by_a_worker_and_its_engine(launched, team, make_worker):
    place = line.place(launched)
    assert place.position == 1 and "No worker listens on `light`" in place.reason
    make_worker("w1", "light").look()
    kind = shown(launched, team, "state", "kind", "kind_label", "parts", "queue")
    assert kind == ["succeeded", "count-prompts", "Count prompts", "prompts", "light"]
    assert shown(launched, team, "done_count", "total_count") == [3, 3]
    assert launched.events.filter(sentence="prompts has 3 prompts.").exists()
