"""Samples of workers, which are complete or absent, and traces: read from a cursor, packed when their sample ends."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.golden.record import FOLDER
from tests.kit import make
from webapp.comparisons import services, trace
from webapp.comparisons.models import Comparison, Sample, TraceChunk
from webapp.comparisons.packing import pack, unpack
from webapp.core.problems import Conflict
from webapp.jobs import services as jobs
from webapp.jobs.models import Job


@pytest.fixture
def comparison(by) -> Comparison:
    return make.comparison(by)


@pytest.fixture
def job(comparison) -> Job:
    return jobs.claim(worker="w1", queues=["cpu"])


@pytest.fixture
def begun(comparison, job) -> list[Sample]:
    """A sample of each of two strategies, without a trace."""
    prompt, repeat, runs = next(make.remaining(comparison))
    return [services.begin_sample(job=job, run=run, prompt=prompt, repeat=repeat, device="cpu") for run in runs]


def write(sample: Sample, first: int, last: int) -> None:
    events = [{"seq": seq, "event": "verified"} for seq in range(first, last + 1)]
    trace.append(sample=sample, first_seq=first, events=events, words={first: f"w{first}"})


def end(sample: Sample, **changes) -> None:
    asked = {"job": Job.objects.get(comparison=sample.run.comparison), "last_seq": 4, **changes}
    services.finish_sample(sample=sample, numbers={"tokens": [1, 2, 3, 4], "tokens_per_s": 1.0}, **asked)


def seqs(sample: Sample, after: int = 0, limit: int = 99) -> list[int]:
    return [event["seq"] for event in trace.read(sample=sample, after=after, limit=limit).events]


def whole(sample: Sample) -> list[int]:
    ((_, events, _),) = trace.read_all([sample.pk])
    return [event["seq"] for event in events]


def test_after_a_crash_only_what_is_missing_is_done_again(comparison, job):
    prompt, repeat, runs = next(make.remaining(comparison))
    make.decode_one(job, runs[0], prompt, repeat)
    torn = services.begin_sample(job=job, run=runs[1], prompt=prompt, repeat=repeat, device="cpu")
    write(torn, 1, 1)
    make.silence()
    assert next(make.remaining(comparison))[2] == [runs[1]]
    make.decode_all(comparison, "w2")
    assert Sample.objects.finished().count() == Sample.objects.count() == 6
    again = Sample.objects.get(run=runs[1], prompt=prompt)
    assert (again.attempt, again.worker, seqs(again)) == (2, "w2", [1, 2, 3, 4])


def test_a_worker_that_lost_its_lease_cannot_write_and_no_sample_is_counted_twice(comparison, job, begun):
    end(begun[1])
    with pytest.raises(Conflict, match="finished already"):
        end(begun[1])
    make.silence()
    jobs.claim(worker="w2", queues=["cpu"])
    with pytest.raises(Conflict, match="lease"):
        services.begin_sample(job=job, run=begun[0].run, prompt=begun[0].prompt, repeat=2, device="cpu")
    with pytest.raises(Conflict, match="lease"):
        end(begun[0], job=job)


def test_a_hole_in_the_trace_is_waited_for_and_a_repeat_does_no_harm(begun):
    sample = begun[0]
    write(sample, 1, 2)
    write(sample, 5, 5)
    assert seqs(sample) == [1, 2]
    for _ in range(2):
        write(sample, 3, 4)
    assert seqs(sample) == [1, 2, 3, 4, 5]
    assert (seqs(sample, after=1), seqs(sample, 3, limit=1), seqs(sample, after=9)) == ([2, 3, 4, 5], [4], [])
    assert TraceChunk.objects.count() == 3


def test_many_traces_are_read_at_once_each_from_its_own_cursor_and_in_parts(begun, django_assert_num_queries):
    one, torn = begun
    for first, last in ((1, 3), (4, 9)):
        write(one, first, last)
    for seq in (1, 2, 4):
        write(torn, seq, seq)
    found = {one.pk: [], torn.pk: []}
    with django_assert_num_queries(1):
        for sample, part in trace.parts({one.pk: 2, torn.pk: 0}, limit=3):
            found[sample].append(([event["seq"] for event in part.events], list(part.words)))
    assert found[one.pk] == [([3, 4, 5], ["1", "4"]), ([6, 7, 8], []), ([9], [])]
    assert found[torn.pk] == [([1, 2], ["1", "2"])]


def test_readers_do_not_notice_that_a_trace_was_packed_nor_that_it_is_written_again(begun, monkeypatch):
    monkeypatch.setattr(trace, "MOST_PACKED", 3)
    sample = begun[0]
    write(sample, 1, 2)
    write(sample, 3, 4)
    before = {(after, limit): seqs(sample, after, limit) for after in range(5) for limit in (1, 2, 99)}
    end(sample)
    assert list(TraceChunk.objects.values_list("first_seq", "last_seq")) == [(1, 3), (4, 4)]
    assert {(after, limit): seqs(sample, after, limit) for after, limit in before} == before
    assert trace.read(sample=sample, after=0, limit=99).words == {"1": "w1", "3": "w3"}
    write(sample, 1, 4)
    assert seqs(sample) == whole(sample) == [1, 2, 3, 4]


def test_an_end_that_fails_while_it_packs_loses_nothing(begun):
    """The chunks are deleted, and what replaces them is not yet written."""

    def fail(execute, sql, *rest):
        done = execute(sql, *rest)
        if sql.startswith("DELETE") and "tracechunk" in sql:
            raise RuntimeError("out of disk")
        return done

    sample = begun[0]
    write(sample, 1, 2)
    write(sample, 3, 4)
    with connection.execute_wrapper(fail), pytest.raises(RuntimeError):
        end(sample)
    sample.refresh_from_db()
    assert sample.finished is None and TraceChunk.objects.count() == 2 and seqs(sample) == [1, 2, 3, 4]


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


def test_packed_events_take_a_quarter_of_the_room_at_most():
    events = [json.loads(line) for line in (max(FOLDER.glob("*.jsonl"))).read_text().splitlines()]
    assert len(pack(events, {})) * 4 < len(json.dumps(events, separators=(",", ":")))


def test_over_rest_a_trace_says_when_it_is_whole_and_a_table_runs_no_formula_in_a_spreadsheet(world, comparison):
    make.decode_all(comparison)
    client = world.api(world.victor)
    listed = client.get("/api/v1/samples/", {"comparison": str(comparison.pk), "limit": 1}).json()
    assert listed["count"] == 6
    address = f"/api/v1/samples/{listed['results'][0]['id']}/trace/"
    first = client.get(address, {"limit": 2}).json()
    assert (first["last_seq"], first["is_finished"]) == (2, False)
    rest = client.get(address, {"after": 2, "wait": 5}).json()
    assert rest["is_finished"] and rest["events"][-1]["event"] == "finished"
    for number, name in enumerate(("=1+1", "@x", " -2"), 1):
        comparison.dataset.prompts.filter(number=number).update(name=name)
    answer = client.get(f"/api/v1/comparisons/{comparison.pk}/rounds.csv")
    assert answer["Content-Type"].startswith("text/csv") and answer["Content-Disposition"].startswith("attachment")
    cells = {line.split(",")[1] for line in answer.getvalue().decode().splitlines()[1:]}
    assert cells == {"'=1+1", "'@x", "' -2"}
