"""Readings of a job's machine: bounded, told in words, and nobody else's. A worker that goes silent, or whose machine
is too busy, is told of before its job is taken from it."""

from __future__ import annotations

import pytest
from django.db.models.functions import Now

from tests.kit import make
from webapp.accounts.models import User
from webapp.comparisons import frames
from webapp.comparisons.kinds import COMPARISON
from webapp.comparisons.models import Comparison
from webapp.jobs import line, services, telemetry
from webapp.jobs.models import Job, Queue, Worker

QUIET = {
    "cores": [0.5, 0.1], "engine": 0.25, "others": 0.05, "load": 0.7, "clocks_mhz": [2900, 3100], "temperature_c": None,
    "memory_used": 3 * 2**30, "memory_total": 8 * 2**30, "engine_memory": 2**30, "gpus": [],
}  # fmt: skip
GPU = {
    "name": "H", "utilisation": 0.9, "memory_used": 1, "memory_total": 2, "clock_mhz": 1980, "power_w": 350.0,
    "temperature_c": 61, "held_back": [], "others": 0,
}  # fmt: skip


@pytest.fixture
def job(world) -> Job:
    services.enqueue(kind=COMPARISON, queue=Queue.CPU, title="one", by=world.actor(world.bob))
    return services.claim(worker="w1", queues=["cpu"])


def test_a_long_job_keeps_a_bounded_number_and_its_first_and_last(job, monkeypatch):
    monkeypatch.setattr(telemetry, "MOST", 20)
    for number in range(50):
        telemetry.keep(job=job, values={**QUIET, "load": number})
    kept = [reading.values["load"] for reading in telemetry.read(job)]
    assert 10 <= len(kept) <= 20
    assert (kept[0], kept[-1]) == (0, 49)
    assert kept == sorted(kept)


def test_readings_are_told_in_words_and_a_system_without_sensors_leaves_facts_out(job):
    blind = {**QUIET, "cores": [], "others": None, "clocks_mhz": [], "memory_total": None}
    telemetry.keep(job=job, values=blind)
    assert telemetry.facts(telemetry.read(job)) == []
    telemetry.read(job)[0].delete()
    hot = {**GPU, "clock_mhz": 1500, "held_back": ["heat"], "others": 1, "temperature_c": 83, "power_w": None}
    telemetry.keep(job=job, values={**QUIET, "gpus": [GPU]})
    telemetry.keep(job=job, values={**QUIET, "others": 0.25, "temperature_c": 55.4, "gpus": [hot]})
    gpu = "90 % busy, 1500 to 1980 MHz, 61 to 83 °C, 350 W, held back by heat, shared with 1 other program"
    assert telemetry.facts(telemetry.read(job)) == [
        ("cores", "25 % of 2 used by the engine, 15 % by others (25 % at most)"),
        ("clock", "2.90 to 3.10 GHz"),
        ("memory", "engine 1.0 GiB at most, all 3.0 of 8.0 GiB"),
        ("temperature", "55 °C"),
        ("H", gpu),
    ]


def test_the_api_and_the_page_show_it(world, job):
    address = f"/api/v1/jobs/{job.pk}/telemetry/"
    assert world.api(world.bob).get(address).json() == {"readings": [], "facts": []}
    telemetry.keep(job=job, values={**QUIET, "gpus": [GPU]})
    answer = world.api(world.bob).get(address).json()
    assert answer["readings"][0]["values"] == {**QUIET, "gpus": [GPU]}
    assert answer["facts"][0]["name"] == "cores"
    assert "25 % of 2 used by the engine" in world.page(world.bob).get(f"/jobs/{job.pk}/").content.decode()
    assert world.api(world.charlie).get(address).status_code == 404


def announce(name="w1", queue="cpu", **more) -> None:
    services.register_worker(name=name, queues=[queue], devices=[], versions={}, **more)


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
