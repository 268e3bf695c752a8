"""Branches that no worker at hand has memory for are refused when they are asked for, in words, and nothing is left."""

from __future__ import annotations

import pytest

from decoding.ssd.memory import GIB
from tests.kit import make
from webapp.comparisons.models import Comparison
from webapp.jobs import services as jobs
from webapp.jobs.models import Job, Worker
from webapp.registry.models import LanguageModel

MANY = {"strategy": "ssd", "params": {"lookahead": 64, "branches": 512}}  # 32 GiB of scores with 128 Ki tokens


@pytest.fixture
def ask(world, by):
    pair, dataset = make.pair(by), make.dataset(by)
    LanguageModel.objects.update(facts={"vocab_size": 1 << 17})
    Job.objects.all().delete()

    def asked(**changes):
        strategies = [{"strategy": "static"}, MANY]
        return world.api(world.bob).post(
            "/api/v1/comparisons/", make.body(pair, dataset, **{"strategies": strategies, **changes})
        )

    return asked


def listens(name, gib, queue="cpu"):
    memory = None if gib is None else int(gib * GIB)
    jobs.announce(name=name, queues=[queue], devices=[queue], versions={}, memory=memory)


def test_branches_that_no_worker_has_memory_for_are_refused_unless_nobody_can_say(ask):
    assert ask().status_code == 202, "no worker is there yet"
    Comparison.objects.all().delete()
    Job.objects.all().delete()
    listens("small", 8)
    listens("larger", 31.5)
    listens("gone", 96)
    make.gone("gone")
    listens("roomy, elsewhere", 96, queue="gpu")
    answer = ask()
    said = answer.json()
    assert (answer.status_code, said["code"], said["field"]) == (400, "out-of-memory", "strategies.1")
    assert "needs at least 32.0 GiB" in said["detail"] and "has more than 31.5 GiB" in said["detail"]
    assert not Comparison.objects.exists() and not Job.objects.exists()
    assert ask(queue="gpu").status_code == ask(strategies=[{"strategy": "ssd"}]).status_code == 202
    listens("older", None)
    assert ask().status_code == 202, "one is older and does not say what it has"
    Worker.objects.filter(name="older").delete()
    listens("enough", 32)
    assert ask().status_code == 202
