"""A worker that goes silent is told of before its job is taken from it."""

from __future__ import annotations

from django.db.models.functions import Now

from tests.webapp import make
from webapp.comparisons import frames
from webapp.comparisons.models import Comparison
from webapp.jobs import line, services
from webapp.jobs.models import Job, Worker


def running(world) -> Comparison:
    comparison = make.comparison(world.actor(world.bob))
    Job.objects.exclude(pk=comparison.job.pk).delete()
    services.announce(name="w1", queues=["cpu"], devices=[], versions={})
    services.claim(worker="w1", queues=["cpu"])
    return Comparison.objects.get(pk=comparison.pk)


def test_a_page_names_a_silent_worker_within_ten_seconds(world):
    comparison = running(world)
    assert frames.status(comparison)["trouble"] == ""
    Worker.objects.update(seen=Now() - Worker.SUSPICIOUS)
    assert "Worker w1 does not answer." in frames.status(comparison)["trouble"]
    assert Worker.SUSPICIOUS.total_seconds() + 2 <= 10  # a relay looks every 2 s
    services.announce(name="w1", queues=["cpu"], devices=[], versions={})
    assert frames.status(comparison)["trouble"] == ""


def test_a_page_names_the_attempt(world):
    comparison = running(world)
    services.take_back_from_silent(job=comparison.job)
    Job.objects.update(not_before=None)
    assert services.claim(worker="w2", queues=["cpu"]).attempt == 2
    assert frames.status(Comparison.objects.get(pk=comparison.pk))["attempt"] == 2


def test_the_outlook_of_a_queue_names_a_free_worker_or_what_is_before(world):
    assert "No worker listens on `cpu`" in line.outlook("cpu")
    running(world)
    assert line.outlook("cpu") == "1 of 1 worker of `cpu` busy, 0 waiting jobs before it."
    services.announce(name="w2", queues=["cpu"], devices=[], versions={})
    assert line.outlook("cpu") == "Worker w2 is free and begins at once."


def test_the_page_of_a_model_that_waits_says_its_position(world):
    model = make.model(world.actor(world.bob))
    shown = world.page(world.bob).get(f"/models/{model.pk}/").content.decode()
    assert "No worker listens on <code>" in shown and "delay:2s" in shown
