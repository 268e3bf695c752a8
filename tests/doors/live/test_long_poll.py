"""Long-polling sends the same frames from the same cursors, for networks that block sockets."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from tests.kit import make
from webapp.comparisons import services, trace
from webapp.comparisons.models import Sample
from webapp.jobs import services as jobs
from webapp.jobs.models import Job


def ask(client, comparison, query=""):
    answer = client.get(f"/api/v1/comparisons/{comparison.pk}/events/?{query}")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def kinds(answer):
    return [frame["t"] for frame in answer["frames"]]


def events(answer):
    return [frame["events"] for frame in answer["frames"] if frame["t"] == "events"]


def test_a_script_reads_all_of_it_by_asking_on(world, comparison):
    bob = world.api(world.bob)
    waiting = ask(bob, comparison)
    assert kinds(waiting) == ["comparison", "samples", "report"]
    status = waiting["frames"][0]
    assert (status["state"], status["position"], status["done"], status["total"]) == ("queued", 1, 0, 6)
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    sample = services.begin_sample(job=job, run=runs[0], prompt=prompt, repeat=repeat, device="cpu")
    trace.append(sample=sample, first_seq=1, events=[{"seq": 1}], words={7: " the"})
    first = ask(bob, comparison)
    told = [frame for frame in first["frames"] if frame["t"] == "events"]
    assert told == [{"t": "events", "sample": str(sample.pk), "events": [{"seq": 1}], "words": {"7": " the"}}]
    trace.append(sample=sample, first_seq=2, events=[{"seq": 2}])
    second = ask(bob, comparison, first["next"])
    assert events(second) == [[{"seq": 2}]] and events(ask(bob, comparison, second["next"])) == []


def test_the_time_left_is_told_by_the_pace_of_samples_and_not_by_how_long_models_took_to_load(world, comparison):
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    make.decode_one(job, runs[0], prompt, repeat)
    Sample.objects.update(created=timezone.now() - timedelta(seconds=10))
    Job.objects.update(started=timezone.now() - timedelta(hours=1))
    status = ask(world.api(world.bob), comparison)["frames"][0]
    assert (status["done"], status["total"]) == (1, 6)
    assert 50 <= status["seconds_left"] < 500  # and not five hours


def test_what_cannot_be_read_is_refused_by_name(world, comparison):
    queries = {"after=x:1": "after", "after=1": "after", "since=now": "since", "wait=26": "wait", "wat=1": "wat"}
    for query, field in queries.items():
        answer = world.api(world.bob).get(f"/api/v1/comparisons/{comparison.pk}/events/?{query}")
        assert (answer.status_code, answer.json()["field"]) == (400, field)
