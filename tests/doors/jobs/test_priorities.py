"""A priority orders the jobs of one team, while they wait; teams take turns whatever it says. Jobs over REST."""

from __future__ import annotations

import pytest

from tests.kit import make
from webapp.accounts.models import AuditEntry, User
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
    enqueue(world, "next", who="bob")
    with pytest.raises(Forbidden, match="Only owners") as refused:
        enqueue(world, "mine first", who="bob", priority=1)
    assert refused.value.field == "priority"
    enqueue(world, "first", priority=1)
    assert claimed(4) == ["first", "usual", "next", "later"]
    assert services.claim(worker="w9", queues=["cpu"]) is None


@pytest.mark.parametrize(
    ("who", "before", "after", "status"),
    [("alice", 0, 10, 200), ("bob", -10, 0, 200), ("bob", 0, 1, 403), ("bob", 5, 0, 403), ("alice", 0, 11, 400)],
)
def test_it_is_changed_while_the_job_waits_by_who_may(world, who, before, after, status):
    job = enqueue(world, priority=before)
    ask = world.api(getattr(world, who)).patch
    assert ask(f"/api/v1/jobs/{job.pk}/", {"priority": after}).status_code == status
    job.refresh_from_db()
    assert job.priority == (after if status == 200 else before)
    told = [entry.detail for entry in AuditEntry.objects.filter(verb="prioritised")]
    assert told == ([{"priority": after}] if status == 200 else [])
    services.claim(worker="w1", queues=["cpu"])
    if status == 200:
        answer = ask(f"/api/v1/jobs/{job.pk}/", {"priority": 0})
        assert (answer.status_code, answer.json()["code"]) == (409, "job-does-not-wait")


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


def test_it_is_asked_for_and_changed_on_pages(world, by):
    client = world.page(world.alice)
    pair, dataset = make.pair(by), make.dataset(by)
    form = {"pair": str(pair.pk), "dataset": str(dataset.pk), "use": "static", "priority": "2", "launch": ""}
    client.post("/comparisons/new/", form)
    job = Comparison.objects.get().job
    assert job.priority == 2
    client.post(f"/jobs/{job.pk}/priority/", {"priority": "-4"})
    told = client.post(f"/jobs/{job.pk}/priority/", {"priority": "11"}, follow=True).content.decode()
    job.refresh_from_db()
    assert 'class="note error"' in told and job.priority == -4
    assert client.get("/jobs/?ordering=priority").context["list"].rows[0].pk == job.pk
    refused = world.page(world.bob).post("/comparisons/new/", form)
    assert refused.status_code == 422 and "Only owners" in refused.content.decode()


def test_a_job_is_cancelled_once_and_its_events_can_be_read_a_few_at_a_time(world):
    client, job = world.api(world.bob), enqueue(world, who="bob")
    answer = client.post(f"/api/v1/jobs/{job.pk}/cancel/")
    assert (answer.status_code, answer.json()["state"]) == (202, "cancelled")
    assert answer["Location"].endswith(f"/api/v1/jobs/{job.pk}/")
    again = client.post(f"/api/v1/jobs/{job.pk}/cancel/")
    assert (again.status_code, again.json()["code"], again.json()["state"]) == (409, "job-is-final", "cancelled")
    address = f"/api/v1/jobs/{job.pk}/events/"
    whole = client.get(address).json()["events"]
    assert [event["seq"] for event in client.get(address, {"after": 1, "wait": 0}).json()["events"]] == [2]
    read, after, is_finished = [], 0, False
    while not is_finished:
        part = client.get(address, {"after": after, "limit": 1}).json()
        assert len(part["events"]) <= 1
        read, after, is_finished = read + part["events"], part["last_seq"], part["is_finished"]
    assert read == whole and len(whole) > 1
    answer = client.get(address, {"wait": "99"})
    assert (answer.status_code, answer.json()["field"]) == (400, "wait") and "from 0 to 25" in answer.json()["detail"]


def test_the_operator_cancels_the_jobs_of_every_team_and_nobody_else_does(world):
    job = enqueue(world, who="bob")
    services.claim(worker="w1", queues=["cpu"])
    charlie, address = world.page(world.charlie), f"/api/v1/jobs/{job.pk}/cancel/"
    assert world.api(world.charlie).post(address).status_code == 404
    assert charlie.post(f"/jobs/{job.pk}/cancel/").status_code == 404
    with pytest.raises(Forbidden):
        services.cancel(job=job, by=world.actor(world.victor))
    User.objects.filter(pk=world.charlie.pk).update(is_operator=True)
    shown = charlie.get("/system/").content.decode()
    assert f"/jobs/{job.pk}/cancel/" in shown and "Alice&#x27;s lab" in shown
    world.charlie.refresh_from_db()
    [running] = world.api(world.charlie).get("/api/v1/system/").json()["running"]
    assert (running["id"], running["worker"]) == (str(job.pk), "w1")
    assert charlie.post(f"/jobs/{job.pk}/cancel/", follow=True).redirect_chain[-1][0] == "/system/"
    assert services.is_cancel_asked(job=job)
    assert world.api(world.charlie).get(f"/api/v1/jobs/{job.pk}/").status_code == 404
    told = AuditEntry.objects.get(verb="asked to cancel")
    assert (told.team, told.user) == (world.team, world.charlie)
