"""One reading for many: each is told of it, and a watch filters by its own cursors, so it sends nothing twice."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.layers import channel_layers

from tests.kit.live import run
from webapp.core import subscriptions
from webapp.core.nudges import nudge, within
from webapp.core.subscriptions import NewsSource, subscribed
from webapp.live.watch import Watch
from webapp.live.watch_socket import SharedFrame, written

SAMPLE = uuid4()


def events(first: int, last: int):
    numbered = [{"seq": seq} for seq in range(first, last + 1)]
    return {"t": "events", "sample": str(SAMPLE), "events": numbered, "words": {}}


def seqs(frames):
    return [event["seq"] for frame in frames if frame["t"] == "events" for event in frame["events"]]


@pytest.fixture
def watch():
    watch = Watch(uuid4(), cursors={SAMPLE: 5})
    watch.must_read = False
    return watch


def test_what_was_heard_is_left_out_and_what_joins_on_is_passed_on(watch):
    assert seqs(watch.sift([events(3, 5), events(4, 7), events(8, 9), events(8, 9)])) == [6, 7, 8, 9]
    assert watch.cursors == {SAMPLE: 9} and not watch.must_read


def test_what_does_not_join_on_is_read_anew(watch):
    assert watch.sift([events(7, 9)]) == []
    assert watch.cursors == {SAMPLE: 5} and watch.must_read


def test_an_end_is_passed_on_once_and_only_after_the_last_event(watch):
    end = {"t": "complete", "sample": str(SAMPLE), "last_seq": 7}
    assert watch.sift([end]) == [] and watch.must_read
    assert watch.sift([events(6, 7), end, end, events(1, 7)]) == [events(6, 7), end]


def test_rows_status_and_report_are_told_when_they_change_and_the_end_is_for_each_to_find_out(watch):
    def frame(**state):
        return {"t": "samples", "since": "2026-01-01T00:00:00+00:00", "rows": [{"id": str(SAMPLE), **state}]}

    begun, done = frame(is_finished=False), frame(is_finished=True)
    audited = frame(is_finished=True, audit="tie")
    assert watch.sift([begun, begun, done, done, audited, audited]) == [begun, done, audited]
    status = {"t": "comparison", "state": "running", "done": 1, "seconds_left": 9}
    report = {"t": "report", "samples": 4}
    again = {**status, "seconds_left": 8}
    assert watch.sift([status, again, report, report]) == [status, report]
    watch.must_read = False
    assert watch.sift([{"t": "finished"}]) == [] and watch.must_read


def test_what_many_are_told_as_it_is_stays_the_frame_that_was_written_once(watch):
    known, fresh = SharedFrame(events(4, 7)), SharedFrame(events(8, 9))
    told = watch.sift([known, fresh])
    assert told[1] is fresh and not isinstance(told[0], SharedFrame)
    text = written(told)
    assert json.loads(text) == told == [events(6, 7), events(8, 9)]
    assert fresh.text in text and written(told) == text


def test_who_waits_can_be_cancelled_in_the_moment_in_which_something_comes():
    async def story() -> bool:
        event = asyncio.Event()
        waiting = asyncio.create_task(within(60, event))
        await asyncio.sleep(0)
        event.set()
        waiting.cancel()
        await asyncio.wait({waiting})
        return waiting.cancelled()

    assert asyncio.run(story())


class Reader:
    """Somebody who follows a source."""

    def __init__(self) -> None:
        self.found: list[int] = []
        self.told = asyncio.Event()

    def deliver(self, found: int) -> None:
        self.found.append(found)
        self.told.set()

    async def reach(self, count: int) -> None:
        while len(self.found) < count:
            self.told.clear()
            await self.told.wait()


@pytest.fixture
def counted(monkeypatch) -> Callable[..., NewsSource]:
    """Make a source that counts its readings. Nothing but nudges and newcomers brings another."""
    monkeypatch.setattr(subscriptions, "LOOK_AGAIN", 3600)
    numbers = itertools.count(1)

    def read(fails_at: int) -> Any:
        number = next(numbers)
        if number == fails_at:
            raise RuntimeError("This reading fails.")
        return number

    return lambda fails_at=0: NewsSource("counted", "counted", lambda: read(fails_at))


@pytest.mark.django_db(transaction=True)
def test_all_who_follow_a_source_share_its_readings_and_a_newcomer_brings_one(counted):
    many, late = [Reader() for _ in range(50)], Reader()

    async def story() -> None:
        with ExitStack() as all_of_them:
            for reader in many:
                all_of_them.enter_context(subscribed(counted(), reader.deliver))
            await many[0].reach(1)
            await sync_to_async(nudge)("counted")
            await many[0].reach(2)
            with subscribed(counted(), late.deliver):
                await late.reach(1)
        with subscribed(counted(), late.deliver):  # the others are gone, and their subscription with them
            await late.reach(len(late.found) + 1)

    run(story())
    assert len(many[0].found) < 10
    assert all(reader.found == many[0].found for reader in many)
    assert late.found[0] in many[0].found and late.found[-1] not in many[0].found


@pytest.mark.django_db(transaction=True)
def test_a_reading_that_fails_ends_nothing(counted, caplog):
    reader = Reader()

    async def story() -> None:
        with subscribed(counted(fails_at=2), reader.deliver):
            await reader.reach(1)
            while reader.found == [1]:
                await sync_to_async(nudge)("counted")

    run(story())
    assert reader.found[:2] == [1, 3]
    assert "cannot read counted (This reading fails.)" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_silent_channel_layer_is_told_of_once_and_its_return_too(settings, valkey, caplog):
    caplog.set_level("INFO", "drafthouse.nudges")
    there = settings.CHANNEL_LAYERS
    nowhere = {"default": {**there["default"], "CONFIG": {"hosts": ["unix:///nowhere/at/all"]}}}
    for layers, times in ((nowhere, 3), (there, 2), (nowhere, 2)):
        settings.CHANNEL_LAYERS = layers
        channel_layers.backends.clear()
        for _ in range(times):
            nudge("somebody")
    told = [record.getMessage() for record in caplog.records if record.name == "drafthouse.nudges"]
    assert ["does not answer" in line for line in told] == [True, False, True]
    assert told[1].startswith("the channel layer answers again, after")
