"""Workers whose models lie in a bucket."""

from __future__ import annotations

import pytest

from tests.kit import make
from tests.kit.stores import bucket, s3_server  # noqa: F401
from webapp.jobs.models import Job
from webapp.registry import services as registry
from worker import materials
from worker.pulse import Hold


@pytest.fixture
def model(team, bucket, checkpoints):  # noqa: F811
    return registry.add_model(name="one", upload=make.upload(team, checkpoints["draft"]), by=team)


def test_weights_are_fetched_once_into_the_workers_cache(model, bucket, make_worker, checkpoints):  # noqa: F811
    make_worker(queue="light").look()
    model.refresh_from_db()
    assert model.state == "ready", model.reason
    bucket.objects.all().delete()
    folder = materials.folder_of(Hold(model.job), model, lambda done, due: None)
    assert (folder / "model.safetensors").read_bytes() == checkpoints["draft"]["model.safetensors"]


def test_a_bucket_that_does_not_answer_is_waited_for(model, make_worker, settings):
    """It is neither the model's fault nor the job's."""
    settings.S3_ENDPOINT = settings.S3_PUBLIC_ENDPOINT = "http://127.0.0.1:1"
    make_worker(queue="light").look()
    job = Job.objects.get()
    assert (job.state, job.counted_ends) == ("queued", 0) and job.not_before is not None
    assert "The object store does not answer (EndpointConnectionError)" in job.reason
