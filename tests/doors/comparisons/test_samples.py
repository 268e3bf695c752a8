"""Samples of workers, which are complete or absent, and traces, which are read from a cursor."""

from __future__ import annotations

import pytest

from tests.kit import make
from webapp.comparisons import services, trace
from webapp.comparisons.models import Comparison, Sample, TraceChunk
from webapp.core.problems import Conflict
from webapp.jobs import services as jobs


@pytest.fixture
def comparison(world) -> Comparison:
    comparison = make.comparison(world.actor(world.bob))
    return comparison


def test_after_a_crash_only_what_is_missing_is_done_again(comparison):
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    make.decode_one(job, runs[0], prompt, repeat)
    torn = services.begin_sample(job=job, run=runs[1], prompt=prompt, repeat=repeat, device="cpu")
    trace.append(sample=torn, first_seq=1, events=[{"seq": 1}])
    make.silence()

    comparison = Comparison.objects.get()
    assert next(make.remaining(comparison))[2] == [runs[1]]
    make.decode_all(comparison, "w2")
    assert Sample.objects.finished().count() == Sample.objects.count() == 6
    again = Sample.objects.get(run=runs[1], prompt=prompt)
    assert (again.attempt, again.worker) == (2, "w2")
    assert [event["seq"] for event in trace.read(sample=again, after=0, limit=99).events] == [1, 2, 3, 4]


def test_a_worker_that_lost_its_lease_cannot_write(comparison):
    old = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    sample = services.begin_sample(job=old, run=runs[0], prompt=prompt, repeat=repeat, device="cpu")
    make.silence()
    jobs.claim(worker="w2", queues=["cpu"])
    with pytest.raises(Conflict, match="lease"):
        services.begin_sample(job=old, run=runs[1], prompt=prompt, repeat=repeat, device="cpu")
    with pytest.raises(Conflict, match="lease"):
        services.finish_sample(job=old, sample=sample, last_seq=1, numbers={"tokens": [], "tokens_per_s": 0})


def test_no_sample_is_counted_twice(comparison):
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    sample = make.decode_one(job, runs[0], prompt, repeat)
    with pytest.raises(Conflict, match="finished already"):
        services.finish_sample(job=job, sample=sample, last_seq=9, numbers={"tokens": [], "tokens_per_s": 0})


def test_a_hole_in_the_trace_is_waited_for_and_a_repeat_does_no_harm(comparison):
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    sample = services.begin_sample(job=job, run=runs[0], prompt=prompt, repeat=repeat, device="cpu")

    def seqs(after=0, limit=99):
        return [event["seq"] for event in trace.read(sample=sample, after=after, limit=limit).events]

    trace.append(sample=sample, first_seq=1, events=[{"seq": 1}, {"seq": 2}])
    trace.append(sample=sample, first_seq=5, events=[{"seq": 5}])
    assert seqs() == [1, 2]
    trace.append(sample=sample, first_seq=3, events=[{"seq": 3}, {"seq": 4}])
    trace.append(sample=sample, first_seq=3, events=[{"seq": 3}, {"seq": 4}])
    assert seqs() == [1, 2, 3, 4, 5]
    assert (seqs(after=1), seqs(after=3, limit=1), seqs(after=9)) == ([2, 3, 4, 5], [4], [])
    assert TraceChunk.objects.count() == 3


def test_many_traces_are_read_at_once_each_from_its_own_cursor_and_in_parts(comparison, django_assert_num_queries):
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    one, torn = (services.begin_sample(job=job, run=run, prompt=prompt, repeat=repeat, device="cpu").pk for run in runs)
    for first, last in ((1, 3), (4, 9)):
        chunk = [{"seq": seq} for seq in range(first, last + 1)]
        trace.append(sample=Sample.objects.get(pk=one), first_seq=first, events=chunk, words={first: f"w{first}"})
    for seq in (1, 2, 4):
        trace.append(sample=Sample.objects.get(pk=torn), first_seq=seq, events=[{"seq": seq}])
    found = {one: [], torn: []}
    with django_assert_num_queries(1):
        for sample, part in trace.parts({one: 2, torn: 0}, limit=3):
            found[sample].append(([event["seq"] for event in part.events], list(part.words)))
    assert found == {one: [([3, 4, 5], ["1", "4"]), ([6, 7, 8], []), ([9], [])], torn: [([1, 2], [])]}


def test_the_trace_over_rest_says_when_it_is_whole(world, comparison):
    make.decode_all(comparison)
    client = world.api(world.victor)
    listed = client.get("/api/v1/samples/", {"comparison": str(comparison.pk), "limit": 1}).json()
    assert listed["count"] == 6
    address = f"/api/v1/samples/{listed['results'][0]['id']}/trace/"
    first = client.get(address, {"limit": 2}).json()
    assert (first["last_seq"], first["is_finished"]) == (2, False)
    rest = client.get(address, {"after": 2, "wait": 5}).json()
    assert rest["is_finished"] and rest["events"][-1]["event"] == "finished"


def test_a_table_runs_no_formula_in_a_spreadsheet(world, comparison):
    make.decode_all(comparison)
    for number, name in enumerate(("=1+1", "@x", " -2"), 1):
        comparison.dataset.prompts.filter(number=number).update(name=name)
    answer = world.api(world.victor).get(f"/api/v1/comparisons/{comparison.pk}/rounds.csv")
    assert answer["Content-Type"].startswith("text/csv") and answer["Content-Disposition"].startswith("attachment")
    cells = {line.split(",")[1] for line in answer.getvalue().decode().splitlines()[1:]}
    assert cells == {"'=1+1", "'@x", "' -2"}
