"""Readings of a job's machine: bounded, told in words, and nobody else's."""

from __future__ import annotations

import pytest

from webapp.comparisons.kinds import COMPARISON
from webapp.jobs import services, telemetry
from webapp.jobs.models import Job, Queue

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
