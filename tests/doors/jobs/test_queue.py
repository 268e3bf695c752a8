"""The queue in the database: who gets a job, who keeps it, and what happens when a worker goes silent."""

from __future__ import annotations

from datetime import timedelta

import pytest
import redis
from django.db import IntegrityError, transaction
from django.utils import timezone

from tests.kit import make
from tests.kit.live import valkey  # noqa: F401
from webapp.accounts.models import User
from webapp.comparisons.kinds import COMPARISON
from webapp.core.broker import app
from webapp.core.problems import Conflict
from webapp.jobs import line, log, nudging, services
from webapp.jobs.leases import Reaper
from webapp.jobs.models import Job, JobEvent, JobState, Queue, Worker
from webapp.uploads.kinds import UNPACK


def enqueue(world, title="one", **options):
    return services.enqueue(kind=COMPARISON, queue=Queue.CPU, title=title, by=world.actor(world.alice), **options)


def claim(worker="w1"):
    return services.claim(worker=worker, queues=["cpu"])


def test_jobs_that_measure_nothing_wait_in_a_queue_of_their_own(world):
    """So a worker that measures and the one beside it never take the same job, and neither waits for the other."""
    measuring = enqueue(world)
    light = services.enqueue(kind=UNPACK, title="light", by=world.actor(world.alice))
    assert "start one with `python -m worker --queue light`" in line.place(light).reason
    assert claim("cpu-1") == measuring
    assert claim("cpu-2") is None
    assert services.claim(worker="light-1", queues=["light"]) == light


def test_a_job_runs_to_its_end_and_tells_its_history(world):
    enqueue(world)
    job = claim()
    assert services.progressed(job=job, done=8)
    assert services.renew(job=job, done=3, total=8)  # an older renewal, which is written last
    assert services.succeed(job=job, done=8)
    job.refresh_from_db()
    assert (job.state, job.done_count, job.total_count, job.lease_until) == ("succeeded", 8, 8, None)
    told = [(event.seq, event.state) for event in JobEvent.objects.filter(job=job)]
    assert told == [(1, "queued"), (2, "running"), (3, "succeeded")]


@pytest.mark.parametrize("taker", ["w1", "w2"])
def test_a_lost_lease_gives_the_job_to_another_and_the_late_writes_are_refused(world, taker):
    """Also where the other is the same worker."""
    enqueue(world)
    old = claim("w1")
    assert make.silence() == 1
    services.note(job=old, sentence="late")
    new = claim(taker)
    assert (new.pk, new.attempt) == (old.pk, 2)
    assert not services.renew(job=old) and not services.succeed(job=old) and not services.fail(job=old, reason="late")
    assert not services.refuse(job=old, reason="late") and Job.objects.get().refusals == {}
    services.note(job=new, sentence="in time")
    told = list(JobEvent.objects.values_list("sentence", flat=True))
    assert "late" not in told and told[-1] == "in time"
    assert services.succeed(job=new)


def test_clocks_that_jump_lose_no_lease_and_keep_none(world):
    """The worker's clock does not matter: a worker that renews keeps the job, and one that does not loses it."""
    enqueue(world, "renewed")
    enqueue(world, "silent")
    renewed, silent = claim("w1"), claim("w2")
    now = 0.0
    reaper = Reaper(clock=lambda: now)
    reaper.look()
    now += 3600
    assert reaper.look() == 0, "while the database was away nobody could renew"
    assert [reaper.look() for _ in range(9)] == [0] * 9, "it is time that counts, not looks"
    services.renew(job=silent)
    for day in (-1, 2, -3):
        there = timezone.now() + timedelta(days=day)
        Job.objects.filter(pk=renewed.pk).update(lease_until=there)  # renewed, by a clock that somebody has set
        assert reaper.look() == 0
        now += 9
    now += 3
    assert reaper.look() == 1
    assert dict(Job.objects.values_list("title", "state")) == {"renewed": "running", "silent": "queued"}
    Job.objects.filter(pk=renewed.pk).update(lease_until=timezone.now() - timedelta(days=1))
    assert Reaper().look() == 0, "one that starts cannot know how long workers have been silent"


def test_cancel_is_immediate_while_waiting_and_a_request_while_running(world):
    waiting = enqueue(world)
    assert services.cancel(job=waiting, by=world.actor(world.bob)).state == "cancelled"
    enqueue(world)
    running = claim()
    services.cancel(job=running, by=world.actor(world.bob))
    assert (running.state, services.is_cancel_asked(job=running)) == ("running", True)
    assert services.stop(job=running)
    with pytest.raises(Conflict, match="cancelled already"):
        services.cancel(job=running, by=world.actor(world.bob))
    last = enqueue(world)
    services.cancel(job=claim(), by=world.actor(world.bob))
    make.silence()  # its worker has died
    assert Job.objects.get(pk=last.pk).state == "cancelled"


def test_the_database_itself_refuses_nonsense(world):
    job = enqueue(world)
    without_a_lease, without_an_end, lease_while_it_waits = (
        {"state": "running"}, {"state": "succeeded"}, {"lease_until": timezone.now()},
    )  # fmt: skip
    for nonsense in (without_a_lease, without_an_end, lease_while_it_waits, {"priority": 99}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Job.objects.filter(pk=job.pk).update(**nonsense)


def test_why_it_waits_is_told_in_words(world):
    job = enqueue(world)
    assert "No worker listens on `cpu`" in line.place(job).reason
    listen()
    claim()
    assert line.place(job).reason == "1st in `cpu`; 0 of 1 worker busy.", "it never waits for itself"
    later = enqueue(world, "later")
    assert line.place(later).reason == "1st in `cpu`; 1 of 1 worker busy with “one”."
    theirs = services.enqueue(kind=COMPARISON, title="c", by=world.actor(world.charlie))
    assert "“one”" not in line.place(theirs).reason
    Worker.objects.update(seen=timezone.now() - timedelta(minutes=1))
    assert "No worker listens" in line.place(later).reason


def listen():
    services.register_worker(name="w1", queues=["cpu"], devices=["cpu"], versions={})


def under_way(world, title, *, total, done, for_s, done_before=0):
    """Make a job that w1 claimed so many seconds ago."""
    job = enqueue(world, title, total=total)
    services.renew(job=claim(), done=done)
    began = timezone.now() - timedelta(seconds=for_s)
    Job.objects.filter(pk=job.pk).update(started=began, done_before=done_before)
    return job


def test_the_step_that_runs_tells_how_far_a_job_is_when_its_parts_are_done(world):
    listen()
    job = under_way(world, "projecting", total=2, done=2, for_s=500)
    assert Job.objects.get(pk=job.pk).left_s() is None, "nobody can tell"
    step = {"phase": "projecting", "done": 30, "due": 90, "is_counted": False, "spent_s": 20.0}
    services.renew(job=Job.objects.get(pk=job.pk), done=2, total=2, step=step)
    told = log.status_of(job := Job.objects.get(pk=job.pk), done=2, total=2)
    assert (told["step"], told["seconds_left"]) == ({"phase": "projecting", "done": 30, "due": 90}, 40)
    assert line.place(enqueue(world, "next", total=10)).reason.endswith("busy with “projecting”, about 40 s left.")
    assert world.api(world.bob).get(f"/api/v1/jobs/{job.pk}/").json()["step"] == told["step"]
    services.reached(job=job, place="static:4 on prompt 1")
    assert Job.objects.get(pk=job.pk).running_step is None
    for is_counted, done, is_in_step in ((False, 1, True), (True, 1, False), (True, 2, True)):
        there = Job(done_count=done, total_count=2, step=step | {"is_counted": is_counted})
        assert there.is_in_step == is_in_step


def test_dates_come_from_the_databases_clock(world, monkeypatch):
    """A worker's clock may be wrong."""
    before, ahead = timezone.now(), timezone.now() + timedelta(hours=2)
    enqueue(world)
    with monkeypatch.context() as wrong:
        wrong.setattr(timezone, "now", lambda: ahead)
        services.register_worker(name="w1", queues=["cpu"], devices=[], versions={})
        services.succeed(job=claim())
    job, [worker] = Job.objects.get(), Worker.objects.alive()
    assert before - timedelta(seconds=1) <= job.started <= job.finished < ahead - timedelta(hours=1)
    assert job.events.last().at < ahead - timedelta(hours=1)
    assert "s ahead of the database's" in worker.clock_trouble
    listen()
    assert Worker.objects.get().clock_trouble == ""


def test_an_attempt_is_timed_from_the_parts_that_are_left_to_it(world):
    """Otherwise one that lost parts would have no time left until it has made up for the loss."""
    job = under_way(world, "again", total=100, done=80, for_s=50, done_before=80)
    for done in (60, 70):
        services.renew(job=Job.objects.get(pk=job.pk), done=done)
    job.refresh_from_db()
    assert job.done_before == 60 and job.part_s() == pytest.approx(5, abs=0.2)
    make.silence()
    again = claim("w2")
    assert again.done_before == again.done_count == 70
    assert again.started > timezone.now() - timedelta(seconds=40)
    Job.objects.filter(pk=job.pk).update(keeps_parts=False)
    make.silence()
    make.waited()
    assert claim().done_count == 0, "a job that keeps no parts begins anew"


def test_the_operator_pauses_a_queue_and_everyone_is_told(world):
    job, page = enqueue(world), world.page(world.alice)
    assert "Pause</button>" not in page.get("/jobs/").content.decode()
    assert page.post("/queues/cpu/pause/", {"reason": "new disks"}).status_code == 403
    User.objects.filter(pk=world.alice.pk).update(is_operator=True)
    assert page.post("/queues/cpu/pause/", {"reason": "new disks"}).status_code == 302
    assert claim() is None
    assert "paused by alice" in line.place(job).reason and "new disks" in line.place(job).reason
    shown = world.page(world.victor).get("/jobs/").content.decode()
    assert "new disks" in shown and "Resume</button>" not in shown
    api = world.api(world.alice)
    (cpu,) = (queue for queue in api.get("/api/v1/queues/").json() if queue["name"] == "cpu")
    assert (cpu["waiting_count"], cpu["running_count"]) == (1, 0) and "new disks" in cpu["paused"]
    assert api.delete("/api/v1/queues/cpu/pause/").status_code == 204
    assert api.post("/api/v1/queues/cpu/pause/", {"reason": "again"}, format="json").json()["paused"]
    assert api.delete("/api/v1/queues/nosuch/pause/").status_code == 404
    assert page.post("/queues/cpu/resume/").status_code == 302
    assert claim() == job


def test_the_jobs_of_who_is_deactivated_end(world):
    running, waiting = enqueue(world, "running"), enqueue(world, "waiting")
    claim()
    other = services.enqueue(kind=COMPARISON, title="bob's", by=world.actor(world.bob))
    User.objects.filter(pk=world.alice.pk).update(is_active=False)
    assert services.end_those_of_deactivated() == 2 and services.end_those_of_deactivated() == 0
    for job in (running, waiting, other):
        job.refresh_from_db()
    assert running.is_cancel_asked and (waiting.state, other.state) == (JobState.CANCELLED, JobState.QUEUED)
    assert waiting.reason == "Cancelled: alice was deactivated."
    services.retry(job=waiting, by=world.actor(world.bob))  # it is bob's from now on
    assert services.end_those_of_deactivated() == 0


def test_a_broker_that_is_away_holds_nobody_up_and_is_told_of_once_and_no_pile_of_nudges_grows(
    settings,
    valkey,  # noqa: F811
    tmp_path,
    monkeypatch,
    caplog,
):
    settings.BROKER_URL = f"redis+socket://{tmp_path / 's'}"
    monkeypatch.setitem(app.conf, "broker_url", settings.BROKER_URL)
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda seconds: pytest.fail("a click waited"))
    for _ in range(2):
        nudging.nudge("cpu")
    (tmp_path / "s").symlink_to(path := valkey.removeprefix("unix://"))
    for _ in range(2):
        nudging.nudge_again("cpu")
    (tmp_path / "s").unlink()
    nudging.nudge_again("cpu")
    told = [record.getMessage() for record in caplog.records if record.name == "drafthouse.queue"]
    assert ["the broker does not answer" in line for line in told] == [True, False, True]
    with redis.Redis(unix_socket_path=path) as broker:
        assert broker.llen("cpu") == 1
