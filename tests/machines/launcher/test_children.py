"""A child that ends is started again with the reason of the last end, so that a worker knows which job to blame. A
leashed process ends with its holder, however that ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import redis

from tests.kit.processes import LINUX, state, until
from worker import leash
from worker.gpus import listed
from worker.supervisor import children, port, probes, valkey
from worker.supervisor.__main__ import broker_of, dealt, worker
from worker.supervisor.children import Child
from worker.supervisor.data_folder import Taken
from worker.supervisor.probes import Probe

DIE = (
    "import os, signal; print('before me:', repr(os.environ['DRAFTHOUSE_BEFORE']), flush=True); "
    "os.kill(os.getpid(), signal.SIGKILL)"
)


def heard(child: Child, capfd: pytest.CaptureFixture[str], words: str) -> str:
    """Return everything that is said while the child is tended, until these words come."""
    said = ""

    def has_said() -> bool:
        nonlocal said
        child.tend()
        said += capfd.readouterr().out
        return words in said

    try:
        until(has_said, words)
    finally:
        children.stop([child], 0)
    return said


def test_the_first_is_told_of_nobody_and_the_next_how_that_one_ended(capfd: pytest.CaptureFixture[str]) -> None:
    child = Child("one", [sys.executable, "-c", DIE])
    said = heard(child, capfd, "before me: '-9'")
    assert said.index("before me: ''") < said.index("before me: '-9'")


def test_what_a_child_writes_in_a_file_is_shown_when_it_ends(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "child.log"
    log.write_text("of a start long ago\n")
    write = f"open({str(log)!r}, 'a').write('a warning\\nno memory left\\n'); import sys; sys.exit(3)"
    child = Child("one", [sys.executable, "-c", write], log=log)
    said = heard(child, capfd, "ended with exit code 3")
    assert "a warning" in said and "no memory left" in said and "long ago" not in said


@pytest.fixture
def deep(tmp_path: Path) -> Path:
    """A data folder whose path is longer than a socket's may be."""
    folder = tmp_path / ("deep" * 15) / ("deeper" * 15)
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def broker(deep: Path) -> Iterator[tuple[Child, redis.Redis]]:
    made = valkey.broker(deep)
    child = broker_of(made)
    usual, has_answered = child.probe, threading.Event()

    def is_well() -> bool:
        well = usual.is_well()
        if well:
            has_answered.set()
        return well

    child.probe = Probe(is_well, every_s=0.1, misses=usual.misses)
    client = redis.Redis(unix_socket_path=str(made.socket), socket_timeout=2.0)
    child.start()
    until(has_answered.is_set, "the broker")  # one that has not answered yet is given a minute to start
    yield child, client
    children.stop([child], 0)


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


@pytest.mark.parametrize(
    "harm",
    [lambda child, socket: socket.unlink(), lambda child, socket: os.kill(child.process.pid, signal.SIGSTOP)],
    ids=["its socket is deleted", "it is paused"],
)
def test_a_broker_that_lives_but_does_not_answer_is_started_again_with_its_data(deep, broker, harm):
    child, client = broker
    assert (deep / "valkey" / "valkey.sock").is_socket()  # however deep the data folder is
    client.set("kept", "1")
    client.close()
    before = child.process.pid
    harm(child, deep / "valkey" / "valkey.sock")

    def is_another() -> bool:
        child.tend()
        return child.is_running() and child.process.pid != before and answers(client)

    until(is_another, "another broker")
    assert client.get("kept") == b"1"


def test_a_child_is_left_alone_while_it_answers_now_and_then(capfd: pytest.CaptureFixture[str]) -> None:
    """Only misses in a row count."""
    answered = iter([False, True, False, True, False, False])
    child = Child("one", ["sleep", "1000"], probe=Probe(lambda: next(answered), every_s=0.01, misses=2))
    child.start()
    said = heard(child, capfd, "ended by SIGKILL")
    assert "does not answer (2 times in a row) and is ended" in said
    assert next(answered, None) is None


def test_pages_that_refuse_are_well_and_pages_that_say_nothing_are_not() -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(400)

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        probe = probes.of_web(f"http://127.0.0.1:{server.server_port}")
        assert probe.is_well()
        server.shutdown()
    assert not probe.is_well()


def test_a_port_that_is_taken_is_told_with_its_holder() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(Taken, match=rf"Port {number} is taken by process {os.getpid()} \(.* --port 0"):
            port.listen("127.0.0.1", number)


@pytest.mark.parametrize(("visible", "found"), [
    (None, ["0", "1", "2"]),
    ("2,0", ["2", "0"]),
    ("GPU-1f3a,7,0", ["1"]),  # as CUDA reads it: nothing behind one that is not there
    ("", []),
    ("MIG-5b1e", ["MIG-5b1e"]),
])  # fmt: skip
def test_the_gpus_are_those_that_the_operator_leaves(visible, found, monkeypatch, tmp_path: Path):
    tool = tmp_path / "nvidia-smi"
    tool.write_text('#!/bin/sh\nfor number in 0 1 2; do echo "$number, GPU-${number}f3a-77"; done\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert listed() == found


def test_a_worker_has_as_many_gpus_as_it_is_to_have() -> None:
    shares = dealt(["0", "1", "2"], 2)
    assert [worker("gpu", 1, share).env["CUDA_VISIBLE_DEVICES"] for share in shares] == ["0,1", "2"]


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
