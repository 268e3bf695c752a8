"""One reading for many watches: each filters by its own cursors, so nothing is sent twice and no hole is taken."""

from __future__ import annotations

import asyncio
import json
from uuid import uuid4

import pytest

from webapp.core.nudges import within
from webapp.live.relay import SharedFrame, written
from webapp.live.watch import Watch

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


def test_a_row_is_told_once_in_each_state(watch):
    def frame(**state):
        return {"t": "samples", "since": "2026-01-01T00:00:00+00:00", "rows": [{"id": str(SAMPLE), **state}]}

    begun, done = frame(is_finished=False), frame(is_finished=True)
    audited = frame(is_finished=True, audit="tie")
    assert watch.sift([begun, begun, done, done, audited, audited]) == [begun, done, audited]


def test_a_status_or_report_that_says_nothing_new_is_left_out(watch):
    status = {"t": "comparison", "state": "running", "done": 1, "seconds_left": 9}
    report = {"t": "report", "samples": 4}
    again = {**status, "seconds_left": 8}
    assert watch.sift([status, again, report, report]) == [status, report]


def test_the_end_of_all_is_for_each_to_find_out(watch):
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
