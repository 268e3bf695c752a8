"""A comparison under load on a worker: many samples at a time, and an engine that is killed among them."""

from __future__ import annotations

import os
import signal

import pytest

from tests.kit.comparisons import is_whole, state
from webapp.comparisons.models import Sample
from webapp.jobs import ends
from webapp.jobs.models import JobEvent
from worker.jobs.comparison.messages import Began

pytestmark = pytest.mark.slow
LOAD = {"strategies": [{"strategy": "static", "params": {"lookahead": 3}}], "concurrency": [3]}


@pytest.mark.smoke
def test_an_engine_killed_in_a_full_batch_costs_only_what_was_unfinished(launch, make_worker, engine):
    comparison = launch(texts=9, tokens=48, **LOAD)
    kept: dict[object, int] = {}

    def kill() -> None:
        assert Sample.objects.filter(finished=None).count() == 3, "the batch is full"
        kept.update(Sample.objects.finished().values_list("pk", "last_seq"))
        os.kill(engine.pid, signal.SIGKILL)

    engine.after(6, kill, (Began,))  # autoregressive texts are as long as each other, and begin one after another
    make_worker().look()
    assert state(comparison) == "succeeded", comparison.job.reason
    assert (comparison.job.attempt, comparison.job.counted_ends, len(kept)) == (2, 0, 3)
    assert kept.items() <= dict(Sample.objects.values_list("pk", "last_seq")).items()
    labels = ("autoregressive @3", "static:3 @3")
    made = Sample.objects.values_list("run__label", "prompt__name", "repeat")
    assert sorted(made) == sorted((label, str(n), 1) for label in labels for n in range(1, 10))
    samples = list(Sample.objects.all())
    assert all(is_whole(sample) and sample.numbers["audit"]["outcome"] == "identical" for sample in samples)
    assert {sample.attempt for sample in samples} == {1, 2}
    told = " ".join(JobEvent.objects.values_list("sentence", flat=True))
    assert "ended by SIGKILL" in told and ends.OUTSIDE in told
