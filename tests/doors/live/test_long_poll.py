"""Long-polling sends the same frames from the same cursors, for networks that block sockets."""

from __future__ import annotations

from datetime import timedelta

import pytest
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


def test_a_waiting_comparison_says_where_it_stands_and_nothing_to_strangers(world, comparison):
    answer = ask(world.api(world.bob), comparison)
    assert kinds(answer) == ["comparison", "samples", "report"]
    status = answer["frames"][0]
    assert (status["state"], status["position"], status["done"], status["total"]) == ("queued", 1, 0, 6)
    assert "No worker listens" in status["sentence"]
    assert world.api(world.charlie).get(f"/api/v1/comparisons/{comparison.pk}/events/").status_code == 404
    assert world.api(None).get(f"/api/v1/comparisons/{comparison.pk}/events/").status_code == 401


def test_a_script_reads_all_of_it_by_asking_on(world, comparison):
    bob = world.api(world.bob)
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    sample = services.begin_sample(job=job, run=runs[0], prompt=prompt, repeat=repeat, device="cpu")
    trace.append(sample=sample, first_seq=1, events=[{"seq": 1}], words={7: " the"})
    first = ask(bob, comparison)
    told = [frame for frame in first["frames"] if frame["t"] == "events"]
    assert told == [{"t": "events", "sample": str(sample.pk), "events": [{"seq": 1}], "words": {"7": " the"}}]

    trace.append(sample=sample, first_seq=2, events=[{"seq": 2}])
    second = ask(bob, comparison, first["next"])
    assert [f["events"] for f in second["frames"] if f["t"] == "events"] == [[{"seq": 2}]]
    assert [f["events"] for f in ask(bob, comparison, second["next"])["frames"] if f["t"] == "events"] == []


def test_the_time_left_is_told_by_the_pace_of_samples_and_not_by_how_long_models_took_to_load(world, comparison):
    job = jobs.claim(worker="w1", queues=["cpu"])
    prompt, repeat, runs = next(make.remaining(comparison))
    make.decode_one(job, runs[0], prompt, repeat)
    ten_seconds, an_hour = timezone.now() - timedelta(seconds=10), timezone.now() - timedelta(hours=1)
    Sample.objects.update(created=ten_seconds)
    Job.objects.update(started=an_hour)
    status = ask(world.api(world.bob), comparison)["frames"][0]
    assert (status["done"], status["total"]) == (1, 6)
    assert 50 <= status["seconds_left"] < 500  # and not five hours


def test_after_the_end_it_says_so_with_the_verdict_and_older_traces_can_still_be_read(world, comparison):
    make.decode_all(comparison)
    bob = world.api(world.bob)
    answer = ask(bob, comparison)
    assert kinds(answer) == ["comparison", "samples", "report", "finished"]
    rows = answer["frames"][1]["rows"]
    assert len(rows) == 6 and all(row["is_finished"] for row in rows)
    sample = Sample.objects.first()
    older = ask(bob, comparison, f"after={sample.pk}:0&since={answer['frames'][1]['since'].replace('+', '%2B')}")
    assert [f["events"][-1]["event"] for f in older["frames"] if f["t"] == "events"] == ["finished"]
    assert "complete" in kinds(older)
    report = ask(world.api(world.bob), comparison)["frames"][2]
    assert report["verdict"].startswith("static:4 ran at ")
    assert report["strategies"][0]["why"]["refusal"] == "It drafted nothing, so no time was lost to drafting."
    why = report["strategies"][1]["why"]
    assert [step["name"] for step in why["steps"]] == ["drafting", "early", "rejected", "width", "overhead"]
    assert why["measured"] == pytest.approx(report["strategies"][1]["tokens_per_s"])
    assert why["steps"][-1]["to"] == pytest.approx(why["measured"])


def test_what_cannot_be_read_is_refused_by_name(world, comparison):
    queries = {"after=x:1": "after", "after=1": "after", "since=now": "since", "wait=26": "wait", "wat=1": "wat"}
    for query, field in queries.items():
        answer = world.api(world.bob).get(f"/api/v1/comparisons/{comparison.pk}/events/?{query}")
        assert (answer.status_code, answer.json()["field"]) == (400, field)
