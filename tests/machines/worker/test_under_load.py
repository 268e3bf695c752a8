"""A comparison under load on a worker: many samples at a time, and an engine that is killed among them."""

from __future__ import annotations

import os
import signal
from itertools import pairwise

import pytest

from tests.kit.comparisons import is_whole, state
from webapp.comparisons import trace
from webapp.comparisons.models import Sample
from webapp.comparisons.report import report
from webapp.jobs.models import JobEvent
from worker.jobs.comparison.messages import Began

pytestmark = pytest.mark.slow
LOAD = {"strategies": [{"strategy": "static", "params": {"lookahead": 3}}], "concurrency": [3]}


def which() -> list[tuple[str, str, int]]:
    return sorted(Sample.objects.values_list("run__label", "prompt__name", "repeat"))


def test_samples_that_are_decoded_together_lose_no_event_and_have_the_text_of_one_user(launch, make_worker):
    users = 3
    comparison = launch(texts=2 * users, tokens=24, **{**LOAD, "concurrency": [1, users]})
    make_worker().look()
    assert state(comparison) == "succeeded", comparison.job.reason
    samples = list(Sample.objects.select_related("run"))
    assert len(samples) == 8 * users and all(is_whole(sample) for sample in samples)
    assert all(verdicts(sample) == (sample.numbers["num_target_passes"], 24) for sample in samples)
    begun = sorted(samples, key=lambda sample: sample.created)
    together = [s for s in begun if s.run.concurrency == users]
    assert any(later.created < earlier.finished for earlier, later in pairwise(together))
    assert all(sample.numbers["timing"]["first_ns"] > 0 for sample in samples)
    rows = report(comparison)["strategies"]
    assert [row["audit"]["identical"] for row in rows] == [2 * users] * 4


def verdicts(sample: Sample) -> tuple[int, int]:
    """Count the verdicts in a trace, and the tokens that they gave."""
    events = trace.read(sample=sample, after=0, limit=100_000).events
    accepted = [event["accepted"] for event in events if event["event"] == "verified"]
    return len(accepted), sum(accepted) + len(accepted)


def check_two_attempts() -> None:
    samples = list(Sample.objects.all())
    assert all(is_whole(sample) for sample in samples)
    assert {sample.attempt for sample in samples} == {1, 2}
    assert all(sample.numbers["audit"]["outcome"] == "identical" for sample in samples)


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
    assert len(kept) == 3
    assert kept.items() <= dict(Sample.objects.values_list("pk", "last_seq")).items()
    labels = ("autoregressive @3", "static:3 @3")
    assert which() == sorted((label, str(n), 1) for label in labels for n in range(1, 10))
    check_two_attempts()
    assert "ended by SIGKILL" in " ".join(JobEvent.objects.values_list("sentence", flat=True))
