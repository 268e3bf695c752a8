"""SSD on a worker: the engine has a process of its own, which goes where the engine goes."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from decoding.ssd.transport.draft_process import divide
from tests.kit.comparisons import succeeded
from tests.kit.processes import family, until
from webapp.comparisons.models import Sample

SSD = {"strategy": "ssd", "params": {"placement": "beside"}}

pytestmark = pytest.mark.skipif(divide() is None or not Path("/proc").exists(), reason="needs two cores, and /proc")


def test_an_engine_that_is_killed_takes_its_draft_with_it(launch, make_worker, engine):
    comparison = launch(texts=4, tokens=48, strategies=[SSD])
    killed = []

    def kill() -> None:
        killed.append(engine.pid)
        assert len(family(engine.pid)) == 2
        os.kill(engine.pid, signal.SIGKILL)

    engine.after(3, kill)
    make_worker().look()
    comparison = succeeded(comparison)
    assert all(sample.numbers["audit"]["outcome"] == "identical" for sample in Sample.objects.all())
    until(lambda: family(killed[0]) == [], "the end of the draft's process")
    assert "draft on" in comparison.hardware["by_strategy"]["ssd:3,placement=beside"]
    assert family(engine.pid) == [engine.pid]
