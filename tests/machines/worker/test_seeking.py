"""While the broker is away, an idle worker finds jobs in the database."""

from __future__ import annotations

from tests.kit.live import valkey  # noqa: F401
from tests.machines.worker.conftest import until
from webapp.core import broker
from webapp.jobs.models import Job
from worker.tasks import Seeker


def test_a_worker_that_nobody_wakes_looks_on_its_own(launch, make_worker, settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/gone.sock"
    launch()
    job_loop = make_worker()
    seeker = Seeker(job_loop, every_s=0.01)
    seeker.start()
    try:
        until(lambda: Job.objects.filter(finished__isnull=False).exists(), "the job to be done")
    finally:
        job_loop.stop()
        seeker.join()
    assert Job.objects.get().state == "succeeded"


def test_a_worker_whose_broker_answers_waits_to_be_woken(settings, tmp_path, valkey):  # noqa: F811
    settings.REDIS_URL = valkey
    assert broker.answers()
    settings.REDIS_URL = f"unix://{tmp_path}/gone.sock"
    assert not broker.answers()
