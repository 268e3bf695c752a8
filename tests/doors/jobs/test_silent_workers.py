"""A worker that goes silent is told of before its job is taken from it."""

from __future__ import annotations

from django.db.models.functions import Now

from tests.kit import make
from webapp.accounts.models import User
from webapp.comparisons import frames
from webapp.comparisons.models import Comparison
from webapp.jobs import line, services
from webapp.jobs.models import Job, Worker


def running(world) -> Comparison:
    comparison = make.comparison(world.actor(world.bob))
    services.announce(name="w1", queues=["cpu"], devices=[], versions={})
    services.claim(worker="w1", queues=["cpu"])
    return Comparison.objects.get(pk=comparison.pk)


def test_a_page_names_a_silent_worker_within_ten_seconds(world):
    comparison = running(world)
    assert frames.status(comparison)["trouble"] == ""
    Worker.objects.update(seen=Now() - Worker.SUSPICIOUS)
    assert "Worker w1 does not answer." in frames.status(comparison)["trouble"]
    assert Worker.SUSPICIOUS.total_seconds() + 2 <= 10  # a subscription looks every 2 s
    services.announce(name="w1", queues=["cpu"], devices=[], versions={})
    assert frames.status(comparison)["trouble"] == ""


def test_a_page_names_the_attempt_and_why_the_one_before_ended(world):
    comparison = running(world)
    reason = "w1: The engine process said nothing for 301 s and was ended.\nIt said last:\nTraceback"
    services.give_back(job=comparison.job, reason=reason, counts=True)
    Job.objects.update(not_before=None)
    job = services.claim(worker="w2", queues=["cpu"])
    told = frames.status(Comparison.objects.get(pk=comparison.pk))
    why = f"{reason.splitlines()[0]} This counts against the job: 1 of 3 at its start."
    assert (job.attempt, told["attempt"], told["setback"]) == (2, 2, why)
    assert why in world.page(world.bob).get(f"/jobs/{job.pk}/").content.decode().replace("&#x27;", "'")


def test_every_page_that_waits_tells_of_a_machine_that_is_too_busy(world):
    comparison = running(world)
    services.announce(name="w1", queues=["cpu"], devices=[], versions={}, others=0.96)
    services.announce(name="w2", queues=["light"], devices=[], versions={}, others=0.96)
    [w1, w2] = Worker.objects.order_by("name")
    assert "use over 90 % of the cores that w1 runs on" in w1.crowd and w2.crowd == ""
    assert frames.status(comparison)["trouble"] == w1.crowd
    assert w1.crowd in world.page(world.bob).get(f"/jobs/{comparison.job_id}/").content.decode()
    User.objects.filter(pk=world.bob.pk).update(is_operator=True)
    assert w1.crowd in world.page(world.bob).get("/system/").content.decode()
    services.announce(name="w1", queues=["cpu"], devices=[], versions={}, others=0.2)
    assert frames.status(comparison)["trouble"] == ""


def test_the_outlook_of_a_queue_names_a_free_worker_or_what_is_before(world):
    assert "No worker listens on `cpu`" in line.outlook("cpu")
    assert "No worker listens on `gpu`" in line.outlook("gpu")
    running(world)
    assert line.outlook("cpu") == "1 of 1 worker of `cpu` busy, 0 waiting jobs before it."
    services.announce(name="w2", queues=["cpu"], devices=[], versions={})
    assert line.outlook("cpu") == "Worker w2 is free and begins at once."
