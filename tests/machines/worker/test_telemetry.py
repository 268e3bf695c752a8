"""How the machine fares: read from its own counters, told truly, and never in the way. Who used its cores?"""

from __future__ import annotations

import dataclasses
import logging
import os
import signal
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from tests.kit.processes import until
from webapp.jobs.models import Job, Reading, Worker
from worker import gauges, noise
from worker.gauges import CpuTime
from worker.gpus import Driver, Gpu
from worker.noise import Mark

# A program that has another work for it, says so, and takes it along when it is ended.
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def parent_and_child():
    command = [sys.executable, "-c", PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        yield parent.pid, int(parent.stdout.readline())
        os.killpg(parent.pid, signal.SIGKILL)


def test_a_job_leaves_readings_of_its_machine(launch, make_worker):
    launch(texts=1)
    make_worker("w1").look()
    told = Worker.objects.get().memory
    assert told == gauges.memory_limit() and 0 < told <= gauges.memory()[1]
    readings = list(Reading.objects.filter(job=Job.objects.get()))
    assert readings and {(reading.worker, reading.attempt) for reading in readings} == {("w1", 1)}
    values = readings[-1].values
    assert len(values["cores"]) == os.cpu_count() and all(0 <= share <= 1 for share in values["cores"])
    assert 0 < values["engine_memory"] < values["memory_total"]
    assert 0 <= values["engine"] <= 1 and 0 <= values["others"] <= 1
    assert any((reading.values["event_lag_s"] or 0) > 0 for reading in readings)


def test_the_log_tells_of_a_job_that_is_taken_and_of_its_end_and_not_its_title(launch, make_worker, caplog):
    caplog.set_level(logging.INFO, "drafthouse.worker")
    job = launch(texts=1).job
    Job.objects.update(title="Secret of the owner")
    make_worker("w1").look()
    began, ended = [record for record in caplog.records if record.name == "drafthouse.worker"]
    assert began.getMessage() == f"took job {job.pk}, attempt 1"
    assert ended.getMessage().startswith(f"job {job.pk} is succeeded after") and ended.took_s >= 0
    assert "Secret" not in caplog.text


def test_what_the_engine_has_started_is_counted_as_the_engine(parent_and_child):
    """A draft that runs beside its target is no stranger."""
    parent, child = parent_and_child
    assert set(gauges.family(parent)) == {parent, child}
    before = gauges.cpu_time_of(parent)
    until(lambda: gauges.cpu_time_of(parent) > before + 0.2, "the child's work to show")
    assert gauges.memory_of(parent) > gauges.memory_of(child) > 0


class Nvml:
    """A driver with two devices, of which the second does not know its power."""

    NVMLError, NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = OSError, 1, 0

    def __getattr__(self, name):
        answers = {
            "nvmlInit": None,
            "nvmlDeviceGetCount": 2,
            "nvmlDeviceGetUtilizationRates": SimpleNamespace(gpu=80, memory=30),
            "nvmlDeviceGetMemoryInfo": SimpleNamespace(used=3, total=8),
            "nvmlDeviceGetClockInfo": 1980,
            "nvmlDeviceGetTemperature": 61,
            "nvmlDeviceGetCurrentClocksThrottleReasons": 0x1 | 0x4 | 0x20,
            "nvmlDeviceGetComputeRunningProcesses": [SimpleNamespace(pid=7), SimpleNamespace(pid=8)],
        }
        return lambda *asked: answers[name]

    def nvmlDeviceGetHandleByIndex(self, index):
        return index

    def nvmlDeviceGetHandleByUUID(self, name):
        return {"GPU-a": 0, "GPU-b": 1}[name]

    def nvmlDeviceGetName(self, device):
        return f"Device {device}"

    def nvmlDeviceGetPowerUsage(self, device):
        if device:
            raise OSError("not supported")
        return 350_500


@pytest.mark.parametrize(
    ("visible", "names"),
    [("1", ["Device 1"]), ("GPU-b,GPU-a", ["Device 1", "Device 0"]), ("", [])],
)
def test_only_the_devices_that_a_worker_may_use_are_read(visible, names):
    assert [gpu.name for gpu in Driver(Nvml(), visible).read({7})] == names


def test_a_device_tells_of_others_where_ours_is_among_them_and_leaves_open_what_it_does_not_know():
    knows, does_not = Driver(Nvml(), None).read({7})
    assert (knows.utilisation, knows.power_w, knows.held_back) == (0.8, 350.5, ["power cap", "heat"])
    assert (does_not.power_w, does_not.clock_mhz) == (None, 1980)
    assert [knows.others, *(gpu.others for gpu in Driver(Nvml(), "0").read({99}))] == [1, 0]  # as a container counts


def mark(spent: float, idle: float, engine: float, clock: float = 3e3) -> Mark:
    return Mark([CpuTime(spent, idle)], engine, [clock])


QUIET = mark(1000, idle=500, engine=100)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (mark(1200, idle=600, engine=200), ""),  # half idle, half ours
        (mark(1200, idle=600, engine=150), f"Other programs used 25 % of the {os.cpu_count()} cores."),
        (mark(1200, idle=600, engine=200, clock=2e3), "The processor's clock went from 3.00 to 2.00 GHz."),
        (mark(1000.1, idle=500, engine=100), ""),  # too short to tell
        (None, ""),
    ],
)
def test_a_sample_is_noisy_when_others_worked_or_the_clock_moved(after: Mark | None, said: str) -> None:
    assert noise.between(QUIET, after) == said


def gpu(**changes: Any) -> Gpu:
    quiet = Gpu("H", 0.9, 1, 8, clock_mhz=1980, power_w=300.0, temperature_c=60, held_back=[], others=0)
    return dataclasses.replace(quiet, **changes)


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (gpu(), ""),
        (gpu(others=2), "H was shared with 2 other programs."),
        (gpu(held_back=["heat", "power cap"]), "H was held back by heat and power cap."),
        (gpu(clock_mhz=1500), "The clock of H went from 1980 to 1500 MHz."),
        (gpu(clock_mhz=2500), ""),  # it had nothing to do before
        (gpu(clock_mhz=None), ""),
    ],
)
def test_a_gpu_makes_a_sample_noisy_too_however_short_it_was(after: Gpu, said: str) -> None:
    before = dataclasses.replace(QUIET, gpus=(gpu(),))
    assert noise.between(before, dataclasses.replace(QUIET, gpus=(after,))) == said


def test_the_work_of_a_server_that_takes_part_is_counted_as_ours() -> None:
    own = os.getpid()
    alone, together = noise.mark(own).engine, noise.mark(own, beside=[own]).engine
    assert alone and together and together >= 2 * alone
