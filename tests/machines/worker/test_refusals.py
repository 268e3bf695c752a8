"""A real worker that cannot do a job says so: it leaves it to another, or tries again when disk or store are there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from django.conf import settings

from tests.kit import make
from webapp.comparisons.kinds import COMPARISON
from webapp.core.version import release
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry import services as registry
from webapp.registry.models import LanguageModel
from worker.disk import tells_of_full_disk

FULL = Path("/dev/full")


def test_a_folder_that_the_operator_does_not_allow_is_not_opened(launch, make_worker, pair, tmp_path: Path):
    """A stranger's backup may name any folder."""
    LanguageModel.objects.filter(pk=pair.draft.pk).update(source="path", upload=None, location=str(tmp_path))
    launch()
    make_worker().look()
    job = Job.objects.get()
    assert job.state == "failed" and "DRAFTHOUSE_MODEL_ROOTS does not allow" in job.reason


def test_a_pair_that_lies_on_another_machine_is_left_to_that_machine(launch, make_worker, pair, tmp_path, settings):
    settings.MODEL_ROOTS = [tmp_path]
    LanguageModel.objects.filter(pk=pair.draft.pk).update(source="path", upload=None, location=str(tmp_path / "far"))
    make_worker("far")
    near = make_worker("near")
    launch()
    near.look()
    job = Job.objects.get()
    assert job.state == "queued"
    assert "near cannot do it: draft should be in" in job.reason and "far may be able to." in job.reason
    near.look()
    job.refresh_from_db()
    assert (job.state, job.attempt) == ("queued", 1)


def test_a_worker_older_than_the_job_leaves_it_to_a_newer_one_and_does_one_of_another_build(launch, team, make_worker):
    launch()
    worker = make_worker("old")
    worker.works[COMPARISON.slug] = lambda attempt: None
    Job.objects.update(version="99.0")
    worker.look()
    job = Job.objects.get()
    assert job.state == "failed" and "It was submitted by Drafthouse 99.0, and this worker is" in job.reason
    jobs.retry(job=job, by=team)
    Job.objects.update(version=f"{release()}+gffffffffffff")
    worker.look()
    assert Job.objects.get().state == "succeeded"


def test_a_copy_that_is_spoiled_here_speaks_only_for_this_machine(launch, make_worker, engine):
    engine.end()  # else the models of an earlier test might still be resident
    launch()
    hands = make_worker("w1")
    hands.look()
    engine.end()
    for weights in (Path(settings.DATA_DIR) / "models").glob("*/*.safetensors"):
        weights.write_bytes(b"spoiled")
    make_worker("w2")
    again = launch()
    hands.look()
    again.job.refresh_from_db()
    assert again.job.state == "queued" and "w2 may be able to." in again.job.reason
    shutil.rmtree(Path(settings.DATA_DIR) / "models")


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_a_job_that_meets_a_full_disk_is_put_back_and_tried_again(launch, make_worker):
    launch()
    worker = make_worker("w1")
    worker.works[COMPARISON.slug] = lambda attempt: FULL.write_text("no room")
    worker.look()
    job = Job.objects.get()
    assert job.state == "queued" and job.not_before is not None
    assert job.counted_ends == 0
    assert "w1: The disk of its machine is full. Make room there" in job.reason


def test_an_engine_that_tells_of_a_full_disk_in_words_is_understood():
    assert tells_of_full_disk("The engine met an error of its own: OSError: [Errno 28] No space left on device")
    assert not tells_of_full_disk("The engine met an error of its own: OSError: [Errno 5] Input/output error")


def test_a_bucket_that_does_not_answer_is_waited_for(team, checkpoints, make_worker, settings, monkeypatch):
    """It is neither the model's fault nor the job's."""
    registry.add_model(name="one", upload=make.upload(team, checkpoints["draft"]), by=team)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "drafthouse")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "for tests")
    settings.S3_BUCKET, settings.S3_ENDPOINT = "uploads", "http://127.0.0.1:2"  # another test asks port 1, without keys
    make_worker(queue="light").look()
    job = Job.objects.get()
    assert (job.state, job.counted_ends) == ("queued", 0) and job.not_before is not None
    assert "The object store does not answer (EndpointConnectionError)" in job.reason
