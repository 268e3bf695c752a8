"""The draft's process ends with the process that started it, however that ends, and shares no core with the target."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
import torch

from decoding.ssd.transport.draft_process import Cores, DraftProcess, divide
from tests.kit.processes import LINUX, state, until
from tests.kit.table import TableRunner

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]

OWNER = """
import os, signal, sys
from functools import partial
import torch
from decoding.ssd.transport.draft_process import Cores, DraftProcess
from tests.kit.table import TableRunner

process = DraftProcess(partial(TableRunner, torch.zeros(3, 3)), Cores(2))
process.begin()
print(process.pid, flush=True)
os.kill(process.pid, signal.SIGSTOP)
os.kill(os.getpid(), signal.SIGKILL)
"""


@LINUX
def test_it_ends_with_whoever_started_it_even_while_it_stands_still() -> None:
    owner = subprocess.run([sys.executable, "-c", OWNER], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    until(lambda: not state(int(owner.stdout)), "its end")


@LINUX
def test_it_stays_on_its_core_sleeps_between_samples_and_ends_when_it_is_told() -> None:
    process = DraftProcess(partial(TableRunner, torch.zeros(3, 3)), divide() or Cores(2))
    process.begin()
    pid = process.pid
    assert pid
    until(lambda: state(pid) == "S", "it to sleep")
    threads = [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
    assert not process.cores.draft or {*map(frozenset, map(os.sched_getaffinity, threads))} == {
        frozenset(process.cores.draft)
    }
    process.end()
    assert state(pid) == "" and process.pid is None
    process.end()  # twice does no harm


@LINUX
def test_target_and_draft_have_cores_of_their_own_and_the_target_gives_them_back() -> None:
    before, threads = os.sched_getaffinity(0), torch.get_num_threads()
    os.sched_setaffinity(0, {min(before)})
    alone = divide()
    os.sched_setaffinity(0, before)
    assert alone is None
    cores = divide()
    if cores is None:
        pytest.skip("one core")
    assert not set(cores.target) & set(cores.draft)
    with pytest.raises(ZeroDivisionError), cores.for_target():
        assert os.sched_getaffinity(0) == set(cores.target)
        assert torch.get_num_threads() < cores.count
        raise ZeroDivisionError
    assert (os.sched_getaffinity(0), torch.get_num_threads()) == (before, threads)
