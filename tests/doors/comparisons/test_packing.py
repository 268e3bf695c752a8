"""Packed events come back as they were, whatever they hold, and take a fraction of the room. A trace is packed when its
sample ends; whoever reads it, from wherever, notices nothing of that."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.golden.record import FOLDER
from tests.kit import make
from webapp.comparisons import services
from webapp.comparisons import trace as store
from webapp.comparisons.models import Sample, TraceChunk
from webapp.comparisons.packing import pack, unpack
from webapp.jobs import services as jobs
from webapp.jobs.models import Job


def test_a_trace_comes_back_whole_and_takes_a_quarter_of_the_room_at_most():
    for file in sorted(FOLDER.glob("*.jsonl")):
        events, words = list(map(json.loads, file.read_text().splitlines())), {str(n): f" word{n}" for n in range(50)}
        packed = pack(events, words)
        assert unpack(packed) == (events, words), file
        assert len(packed) * 4 < len(json.dumps([events, words], separators=(",", ":"))), file


FIELDS = st.sampled_from(("seq", "steps", "nested", "text"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=40, deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(FIELDS, VALUES, min_size=1), max_size=6))
def test_anything_comes_back_as_it_was(events):
    assert json.dumps(unpack(pack(events, {}))[0]) == json.dumps(events)


@pytest.fixture
def begun(world) -> Sample:
    """A sample whose trace of four events is written, in two chunks, and that has not ended."""
    comparison = make.comparison(world.actor(world.bob))
    Job.objects.exclude(pk=comparison.job.pk).delete()
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    sample = services.begin_sample(job=job, run=runs[0], prompt=prompt, repeat=repeat, device="cpu")
    write(sample)
    return sample


def write(sample: Sample) -> None:
    events = [{"seq": seq, "event": "verified", "token": seq} for seq in range(1, 5)]
    store.append(sample=sample, first_seq=1, events=events[:2], words={1: "a", 2: "b"})
    store.append(sample=sample, first_seq=3, events=events[2:], words={3: "c", 4: "d"})


def end(sample: Sample) -> None:
    numbers = {"tokens": [1, 2, 3, 4], "tokens_per_s": 1.0}
    services.finish_sample(job=Job.objects.get(), sample=sample, last_seq=4, numbers=numbers)


def read(sample: Sample, after: int = 0, limit: int = 99) -> tuple[list[int], set[str]]:
    part = store.read(sample=sample, after=after, limit=limit)
    return [event["seq"] for event in part.events], set(part.words.values())


def test_readers_do_not_notice_that_a_trace_was_packed(begun):
    before = {(after, limit): read(begun, after, limit)[0] for after in range(5) for limit in (1, 2, 99)}
    end(begun)
    assert TraceChunk.objects.count() == 1
    assert {(after, limit): read(begun, after, limit)[0] for after, limit in before} == before
    assert read(begun, after=2)[1] >= {"c", "d"}  # who has read two events is told the words of the others
    assert read_whole(begun) == [1, 2, 3, 4]


def test_a_long_trace_is_packed_in_several_pieces(begun, monkeypatch):
    monkeypatch.setattr(store, "MOST_PACKED", 3)
    end(begun)
    assert list(TraceChunk.objects.values_list("first_seq", "last_seq")) == [(1, 3), (4, 4)]
    assert read(begun) == ([1, 2, 3, 4], {"a", "b", "c", "d"})
    assert read(begun, after=3) == ([4], {"c", "d"})


def test_chunks_that_are_written_again_after_the_end_are_read_as_well(begun):
    end(begun)
    write(begun)
    assert read(begun)[0] == read_whole(begun) == [1, 2, 3, 4]


def read_whole(sample: Sample) -> list[int]:
    ((_, events, _),) = store.read_all([sample.pk])
    return [event["seq"] for event in events]


def test_an_end_that_fails_while_it_packs_loses_nothing(begun):
    """The chunks are deleted, and what replaces them is not yet written."""

    def fail(execute, sql, *rest):
        done = execute(sql, *rest)
        if sql.startswith("DELETE") and "tracechunk" in sql:
            raise RuntimeError("out of disk")
        return done

    with connection.execute_wrapper(fail), pytest.raises(RuntimeError):
        end(begun)
    begun.refresh_from_db()
    assert begun.finished is None
    assert TraceChunk.objects.count() == 2 and read(begun)[0] == [1, 2, 3, 4]
    end(begun)
    assert TraceChunk.objects.count() == 1 and read(begun)[0] == [1, 2, 3, 4]
