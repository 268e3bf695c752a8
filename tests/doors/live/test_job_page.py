"""A job's page hears what its worker writes: by socket and by long-poll, from a cursor."""

from __future__ import annotations

import pytest
from asgiref.sync import sync_to_async

from tests.kit.live import Watcher, watcher
from webapp.jobs import services as jobs
from webapp.jobs.models import Job, Queue
from webapp.studies.kinds import TRAINING


@pytest.fixture
def job(transactional_db, world) -> Job:
    jobs.enqueue(kind=TRAINING, queue=Queue.CPU, title="Train one", by=world.actor(world.bob))
    return jobs.claim(worker="w1", queues=["cpu"])


def socket_of(job, user) -> Watcher:
    made = watcher(job, user)
    made.scope["path"] = f"/ws/jobs/{job.pk}/"
    return made


def epoch(job, number) -> None:
    jobs.note(job=job, sentence="", numbers={"phase": "training", "done": number, "train_loss": 1 / number})


def lines(told) -> list[int]:
    """Return the lines without those that came again."""
    return list(dict.fromkeys(line["seq"] for frame in told if frame["t"] == "events" for line in frame["events"]))


async def test_numbers_arrive_as_they_are_written_and_a_late_joiner_has_them_all(world, job):
    first, late, stranger = (socket_of(job, user) for user in (world.bob, world.victor, world.charlie))
    await first.open()
    await first.until(lambda w: lines(w.frames) == [1, 2])
    assert first.heard("job")[0]["state"] == "running"
    await sync_to_async(epoch)(job, 1)
    await first.until(lambda w: lines(w.frames) == [1, 2, 3])
    await late.open(after={str(job.pk): 1})
    await sync_to_async(epoch)(job, 2)
    await sync_to_async(jobs.succeed)(job=job)
    for told in (first, late):
        assert await told.closed() == (1000, "The job is over and all of it was told.")
        assert told.heard("job")[-1]["state"] == "succeeded"
    assert (lines(first.frames), lines(late.frames)) == ([1, 2, 3, 4, 5], [2, 3, 4, 5])
    numbers = {line["seq"]: line["numbers"] for f in late.heard("events") for line in f["events"] if line["numbers"]}
    assert [line["train_loss"] for line in numbers.values()] == [1.0, 0.5]
    await stranger.knock()
    code, sentence = await stranger.closed()
    assert code == 4004 and "There is no job" in sentence and stranger.frames == []
