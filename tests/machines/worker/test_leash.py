"""A leashed process ends with its holder, however that ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.processes import LINUX, state, until
from worker import leash

ROOT = Path(__file__).parents[3]
PROGRAM = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
HOLDER = """
import subprocess, sys
from worker import leash
subprocess.run([sys.executable, "-P", *sys.argv[1:]], env=leash.held())
"""
PARENT = f"""
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", {PROGRAM!r}], stdout=subprocess.DEVNULL)
print(os.getpid(), child.pid, flush=True)
child.wait()
"""
LEADS = HOLDER.replace("env=leash.held()", "env=leash.held(), start_new_session=True")


@LINUX
def test_a_foreign_program_ends_with_its_holder():
    command = [sys.executable, "-c", HOLDER, "-m", "worker.leash", sys.executable, "-c", PROGRAM]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        program = int(holder.stdout.readline())
        assert state(program)
        holder.kill()
        until(lambda: not state(program), "the program to end")


@LINUX
def test_what_a_program_has_started_ends_with_the_programs_holder():
    command = [sys.executable, "-c", LEADS, "-m", "worker.leash", "--family", sys.executable, "-c", PARENT]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        family = [int(pid) for pid in holder.stdout.readline().split()]
        assert len(family) == 2 and all(map(state, family))
        holder.kill()
        until(lambda: not any(map(state, family)), "the program and its child to end")


@pytest.mark.parametrize("ending", ["sys.exit(3)", "os.kill(os.getpid(), 11)", "os.kill(os.getpid(), 9)"])
def test_a_leashed_family_ends_as_its_program_did(ending):
    program = [sys.executable, "-c", f"import os, sys; {ending}"]
    codes = [
        subprocess.run(command, cwd=ROOT, env=leash.held(), start_new_session=True).returncode
        for command in (program, [sys.executable, "-P", "-m", "worker.leash", "--family", *program])
    ]
    assert codes[0] == codes[1] != 0
