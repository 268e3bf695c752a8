"""The rules of the trace, against a real Valkey: nothing is missed, whatever happens between."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from tests.kit import make
from webapp.comparisons import services, trace
from webapp.comparisons.models import Sample, TraceChunk
from webapp.core import news
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.live.watch import Watch

ALL_TOLD = (1000, "The comparison is over and all of it was told.")

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def sample(comparison, job) -> Sample:
    """The first sample, being decoded; nothing of its trace is written."""
    prompt, repeat, runs = next(make.remaining(comparison))
    return services.begin_sample(job=job, run=runs[0], prompt=prompt, repeat=repeat, device="cpu")


def events(first: int, last: int) -> list[dict[str, Any]]:
    return [{"seq": seq, "event": "verified"} for seq in range(first, last + 1)]


async def write(sample: Sample, first: int, last: int) -> None:
    await sync_to_async(trace.append)(sample=sample, first_seq=first, events=events(first, last), words={first: "a"})


async def finish(job: Job, sample: Sample, last_seq: int) -> None:
    numbers = make.numbers_of(sample.run, sample.prompt)
    await sync_to_async(services.finish_sample)(job=job, sample=sample, last_seq=last_seq, numbers=numbers)


@pytest.mark.smoke
async def test_who_joins_late_is_told_everything_and_then_what_comes(sample, bob):
    await write(sample, 1, 3)
    await write(sample, 4, 5)
    await bob.open()
    await bob.until(lambda bob: len(bob.seqs(sample)) == 5)
    await write(sample, 6, 7)
    await bob.until(lambda bob: len(bob.seqs(sample)) == 7)
    await bob.leave()
    assert bob.seqs(sample) == [1, 2, 3, 4, 5, 6, 7]
    assert bob.heard("events")[0]["words"] == {"1": "a", "4": "a"}


async def test_a_move_of_the_job_is_told_at_once(comparison, monkeypatch, bob):
    monkeypatch.setattr(news, "LOOK_AGAIN", 3600)
    await bob.open()
    await bob.until(lambda bob: bob.heard("comparison"))
    await sync_to_async(jobs.claim)(worker="w1", queues=["cpu"])
    await bob.until(lambda bob: bob.heard("comparison")[-1]["state"] == "running")
    await bob.leave()


async def test_a_lost_announcement_costs_a_moment_and_nothing_else(sample, monkeypatch, bob):
    monkeypatch.setattr(news, "LOOK_AGAIN", 0.2)
    await bob.open()
    await bob.until(lambda bob: bob.heard("samples"))
    chunk = TraceChunk(sample=sample, first_seq=1, last_seq=2, events=events(1, 2))
    await sync_to_async(chunk.save)()
    await bob.until(lambda bob: len(bob.seqs(sample)) == 2)
    await bob.leave()


async def test_the_line_is_closed_after_the_last_event_of_all(comparison, job, sample, bob):
    await bob.open()
    await bob.until(lambda bob: bob.heard("samples"))
    await write(sample, 1, 3)
    await finish(job, sample, last_seq=3)
    await sync_to_async(jobs.fail)(job=job, reason="The rest was not wanted.")
    assert await bob.closed() == ALL_TOLD
    assert bob.seqs(sample) == [1, 2, 3]
    assert bob.frames[-1] == {"t": "finished"}
    assert bob.heard("comparison")[-1]["sentence"] == "The rest was not wanted."


def test_a_sample_that_ended_shortly_before_a_watch_and_became_visible_after_it_is_told_whole(comparison, job, sample):
    trace.append(sample=sample, first_seq=1, events=events(1, 3))
    numbers = make.numbers_of(sample.run, sample.prompt)
    services.finish_sample(job=job, sample=sample, last_seq=3, numbers=numbers)
    watch = Watch(comparison.pk, job.pk, since=timezone.now())
    assert {"events", "complete"} <= {frame["t"] for frame in watch.news()}


async def test_a_sample_that_began_and_ended_unseen_is_told_too(comparison, job, sample, bob):
    await bob.open(since=comparison.created.isoformat())
    await write(sample, 1, 3)
    await finish(job, sample, last_seq=3)
    await bob.until(lambda bob: bob.heard("complete"))
    await bob.leave()
    assert bob.seqs(sample) == [1, 2, 3]
