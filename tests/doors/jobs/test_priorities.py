"""A priority orders the jobs of one team, while they wait; teams take turns whatever it says."""

from __future__ import annotations

import pytest

from tests.kit import make
from webapp.accounts.models import AuditEntry
from webapp.comparisons.kinds import COMPARISON
from webapp.comparisons.models import Comparison
from webapp.core.problems import Forbidden
from webapp.jobs import line, services
from webapp.jobs.models import Job, Queue


def enqueue(world, title="one", who="alice", **options):
    by = world.actor(getattr(world, who))
    return services.enqueue(kind=COMPARISON, queue=Queue.CPU, title=title, by=by, **options)


def claimed(count):
    return [services.claim(worker=f"w{number}", queues=["cpu"]).title for number in range(count)]


def test_another_team_is_never_overtaken_by_a_priority(world):
    for number in range(3):
        enqueue(world, f"urgent {number}", priority=10)
    enqueue(world, "charlie's", who="charlie", priority=-10)
    foretold = [Job.objects.get(pk=pk).title for pk in line.order("cpu")]
    found = claimed(4)
    assert found == foretold
    assert found.index("charlie's") < 2


def test_a_members_job_stands_back_and_an_owners_goes_first(world):
    enqueue(world, "usual", who="bob")
    enqueue(world, "later", who="bob", priority=-1)
    with pytest.raises(Forbidden, match="Only owners") as refused:
        enqueue(world, "mine first", who="bob", priority=1)
    assert refused.value.field == "priority"
    enqueue(world, "first", priority=1)
    assert claimed(3) == ["first", "usual", "later"]


@pytest.mark.parametrize(
    ("who", "before", "after", "status"),
    [("alice", 0, 10, 200), ("bob", 0, -10, 200), ("bob", -10, 0, 200), ("bob", 0, 1, 403), ("bob", 5, 0, 403),
     ("victor", 0, -1, 403), ("charlie", 0, -1, 404)],
)  # fmt: skip
def test_it_is_changed_while_the_job_waits_by_who_may(world, who, before, after, status):
    job = enqueue(world, priority=before)
    answer = world.api(getattr(world, who)).patch(f"/api/v1/jobs/{job.pk}/", {"priority": after})
    job.refresh_from_db()
    assert (answer.status_code, job.priority) == (status, after if status == 200 else before)
    told = [entry.detail for entry in AuditEntry.objects.filter(verb="prioritised")]
    assert told == ([{"priority": after}] if status == 200 else [])
    assert job.events.filter(sentence=f"{who} gives it priority {after}.").exists() == (status == 200)


@pytest.mark.parametrize("priority", [11, -11, "1", None])
def test_what_is_no_priority_is_refused_by_name(world, priority):
    job = enqueue(world)
    answer = world.api(world.alice).patch(f"/api/v1/jobs/{job.pk}/", {"priority": priority})
    assert (answer.status_code, answer.json()["field"]) == (400, "priority")


def test_what_runs_or_is_over_keeps_it(world):
    job = enqueue(world)
    services.claim(worker="w1", queues=["cpu"])
    answer = world.api(world.alice).patch(f"/api/v1/jobs/{job.pk}/", {"priority": 3})
    assert (answer.status_code, answer.json()["code"]) == (409, "job-does-not-wait")
    assert "running" in answer.json()["detail"]


def test_whatever_asks_for_a_job_may_say_it(world):
    by = world.actor(world.alice)
    pair, dataset = make.pair(by), make.dataset(by)
    things = {"pair": str(pair.pk), "dataset": str(dataset.pk), "priority": -3}
    client = world.api(world.alice)
    made = client.post("/api/v1/comparisons/", make.body(pair, dataset, priority=4)).json()
    assert made["job"]["priority"] == 4
    assert client.post(f"/api/v1/comparisons/{made['id']}/clone/", {}).json()["job"]["priority"] == 0
    assert client.post("/api/v1/studies/", {"kind": "plan", **things}).json()["job"]["priority"] == -3
    assert client.post("/api/v1/classifiers/train/", {"name": "c", **things}).json()["priority"] == -3
    refused = world.api(world.bob).post("/api/v1/comparisons/", make.body(pair, dataset, priority=4))
    assert (refused.status_code, refused.json()["field"]) == (403, "priority")
    assert Comparison.objects.count() == 2


def test_it_is_asked_for_and_changed_on_pages(world):
    by, client = world.actor(world.alice), world.page(world.alice)
    pair, dataset = make.pair(by), make.dataset(by)
    form = {"pair": str(pair.pk), "dataset": str(dataset.pk), "use": "static", "priority": "2", "launch": ""}
    client.post("/comparisons/new/", form)
    job = Comparison.objects.get().job
    assert job.priority == 2
    shown = client.get("/jobs/").content.decode()
    assert f'action="/jobs/{job.pk}/priority/"' in shown and 'value="2"' in shown
    client.post(f"/jobs/{job.pk}/priority/", {"priority": "-4"})
    job.refresh_from_db()
    assert job.priority == -4
    told = client.post(f"/jobs/{job.pk}/priority/", {"priority": "11"}, follow=True).content.decode()
    job.refresh_from_db()
    assert 'class="note error"' in told and job.priority == -4
    assert client.get("/jobs/?ordering=priority").context["list"].rows[0].pk == job.pk
    refused = world.page(world.bob).post("/comparisons/new/", form)
    assert refused.status_code == 422 and "Only owners" in refused.content.decode()
