"""Jobs over REST."""

from __future__ import annotations

from webapp.accounts.models import AuditEntry, User
from webapp.comparisons.kinds import COMPARISON
from webapp.jobs import services
from webapp.jobs.models import Queue


def enqueue(world):
    return services.enqueue(kind=COMPARISON, queue=Queue.CPU, title="one", by=world.actor(world.bob))


def test_a_job_is_cancelled_once_and_its_events_can_be_read_a_few_at_a_time(world):
    client, job = world.api(world.bob), enqueue(world)
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
    job = enqueue(world)
    services.claim(worker="w1", queues=["cpu"])
    charlie, address = world.page(world.charlie), f"/api/v1/jobs/{job.pk}/cancel/"
    assert world.api(world.charlie).post(address).status_code == 404
    assert charlie.post(f"/jobs/{job.pk}/cancel/").status_code == 404
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
