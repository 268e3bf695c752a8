"""A worker that goes silent, or whose machine is too busy, is told of before its job is taken from it."""

from __future__ import annotations

from django.db.models.functions import Now

from tests.kit import make
from webapp.accounts.models import User
from webapp.comparisons import frames
from webapp.comparisons.models import Comparison
from webapp.jobs import line, services
from webapp.jobs.models import Job, Worker


def announce(name="w1", queue="cpu", **more) -> None:
    services.announce(name=name, queues=[queue], devices=[], versions={}, **more)


def test_a_page_names_a_silent_worker_a_busy_machine_and_why_the_attempt_before_ended(world, by):
    assert "No worker listens on `cpu`" in line.outlook("cpu") and "on `gpu`" in line.outlook("gpu")
    comparison = make.comparison(by)
    announce()
    services.claim(worker="w1", queues=["cpu"])
    assert line.outlook("cpu") == "1 of 1 worker of `cpu` busy, 0 waiting jobs before it."

    def told(name="trouble"):
        return frames.status(Comparison.objects.get(pk=comparison.pk))[name]

    assert told() == ""
    Worker.objects.update(seen=Now() - Worker.SUSPICIOUS)
    assert "Worker w1 does not answer." in told()
    assert Worker.SUSPICIOUS.total_seconds() + 2 <= 10  # a subscription looks every 2 s
    announce(others=0.96)
    announce("w2", "light", others=0.96)
    [w1, w2] = Worker.objects.order_by("name")
    assert "use over 90 % of the cores that w1 runs on" in w1.crowd and w2.crowd == ""
    assert told() == w1.crowd
    User.objects.filter(pk=world.bob.pk).update(is_operator=True)
    for page in (f"/jobs/{comparison.job_id}/", "/system/"):
        assert w1.crowd in world.page(world.bob).get(page).content.decode()
    announce(others=0.2)
    assert told() == ""
    reason = "w1: The engine process said nothing for 301 s and was ended.\nIt said last:\nTraceback"
    services.give_back(job=Job.objects.get(pk=comparison.job_id), reason=reason, counts=True)
    assert line.outlook("cpu") == "0 of 1 worker of `cpu` busy, 1 waiting job before it."
    Job.objects.update(not_before=None)
    services.claim(worker="w2", queues=["cpu"])
    why = f"{reason.splitlines()[0]} This counts against the job: 1 of 3 at its start."
    assert (told("attempt"), told("setback")) == (2, why)
    announce("w3")
    assert line.outlook("cpu").startswith("Worker w")
