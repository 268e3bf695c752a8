"""Branches that no worker at hand has memory for are refused when they are asked for, in words, and nothing is left."""

from __future__ import annotations

import pytest

from decoding.ssd.memory import GIB
from tests.kit import make
from webapp.comparisons.models import Comparison
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
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


def test_no_worker_has_the_room(ask):
    listens("small", 8)
    listens("larger", 31.5)
    listens("roomy, elsewhere", 96, queue="gpu")
    answer = ask()
    said = answer.json()
    assert (answer.status_code, said["code"], said["field"]) == (400, "out-of-memory", "strategies.1")
    assert "needs at least 32.0 GiB" in said["detail"] and "has more than 31.5 GiB" in said["detail"]
    assert not Comparison.objects.exists() and not Job.objects.exists()


def test_a_plan_says_so_too_and_another_queue_may_have_it(ask, world):
    listens("small", 8)
    listens("roomy", 96, queue="gpu")
    assert ask(queue="gpu").status_code == 202
    assert ask(strategies=[{"strategy": "ssd"}]).status_code == 202


@pytest.mark.parametrize("workers", [[], [8, 32], [8, None]])
def test_where_one_has_it_or_nobody_can_say_it_may_wait(ask, workers):
    """Nobody is there yet, one has enough, or one is older and does not say what it has."""
    for number, gib in enumerate(workers):
        listens(f"w{number}", gib)
    assert ask().status_code == 202


def test_who_is_gone_does_not_count(ask):
    listens("roomy", 96)
    make.gone("roomy")
    listens("small", 8)
    assert ask().status_code == 400
