"""A process that ends when the one that started it does, however that ended: no orphan is left behind.

`python -m worker.leash COMMAND …` puts a foreign program on the leash; `--family` before it, all that it starts too.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from worker.disk import Stopped

ROOT = Path(__file__).resolve().parents[1]
HOLDER = "DRAFTHOUSE_LEASH"  # the process id of who holds it; who is started by hand has none and runs free
FAMILY = "--family"
BEFORE = "DRAFTHOUSE_BEFORE"  # return code of our predecessor; empty: our holder had started none
PR_SET_PDEATHSIG = 1
LOOK_EVERY = 0.5  # s, at our parent, where the system does not tell of its death
READ_EVERY = 0.1  # s, what a child writes


def put_on() -> None:
    """Call this first in a child, from its main thread."""
    holder = int(os.environ.get(HOLDER, 0))
    if not holder:
        return
    if sys.platform == "linux":
        end_with_parent(signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(holder, lambda: os._exit(1)), daemon=True).start()
    _require_alive(holder)


def end_with_parent(number: signal.Signals) -> None:
    """Have Linux send this process a signal when the thread that started it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)


def held() -> dict[str, str]:
    """The environment for a child of this process: on our leash, and with our modules, wherever we were started."""
    return {**os.environ, HOLDER: str(os.getpid()), "PYTHONPATH": str(ROOT)}


def start(command: Sequence[str], **options: Any) -> subprocess.Popen[Any]:
    """Start a child on our leash, in a process group of its own, so that all that it starts can be ended. Ctrl-C does
    not reach it. Call this from a thread that lives as long as the child may: the leash is tied to the one that
    forks."""
    given = {"env": held(), "stdin": subprocess.DEVNULL, "start_new_session": True, **options}
    return subprocess.Popen(command, **given)


def signal_group(process: subprocess.Popen[Any], number: int) -> bool:
    """Send a signal to a child and to all that it has started. Return whether anything of it is there."""
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def end(process: subprocess.Popen[Any], time_to_obey_s: float) -> None:
    """Send TERM, then KILL, to a child and to all that it has started, and wait for its end."""
    signal_group(process, signal.SIGTERM)
    with suppress(subprocess.TimeoutExpired):
        process.wait(time_to_obey_s)
    signal_group(process, signal.SIGKILL)
    process.wait()


def watch(
    module: Sequence[str], may_go_on: Callable[[], bool], on_look: Callable[[bytes], None], **environment: str
) -> int:
    """Run a module of ours on the leash, hand on what it writes, and return its exit code. If it may not go on, end it
    and all that it started, and raise Stopped. Call this from the main thread: the leash is tied to the one that
    forks."""
    command = [sys.executable, "-P", "-m", *module]
    with start(command, env=held() | environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        has_ended = False
        try:
            while not has_ended:
                if not may_go_on():
                    raise Stopped
                time.sleep(READ_EVERY)
                has_ended = process.poll() is not None  # what it wrote before is read below
                on_look(process.stdout.read() or b"")
        except BaseException:
            signal_group(process, signal.SIGKILL)
            raise
    return int(process.returncode)


def _require_alive(holder: int) -> None:
    if os.getppid() != holder:  # it died before the leash was on
        os._exit(1)


def _watch(holder: int, end: Callable[[], object]) -> None:
    """Look whether the parent lives, on systems that do not tell of its death."""
    while os.getppid() == holder:
        time.sleep(LOOK_EVERY)
    end()


def lead(command: Sequence[str], holder: int) -> int:
    """Run a program in the process group that we lead, and kill the whole group when our parent ends."""
    signal.signal(signal.SIGTERM, lambda *_: None)  # the program hears it too, and may take its time
    signal.signal(signal.SIGUSR1, lambda *_: _end_group())
    if sys.platform == "linux":
        end_with_parent(signal.SIGUSR1)
    else:
        threading.Thread(target=_watch, args=(holder, _end_group), daemon=True).start()
    _require_alive(holder)
    return subprocess.call(command)


def _end_group() -> None:
    os.killpg(os.getpid(), signal.SIGKILL)


def _end_alike(code: int) -> None:
    """End as the program did, so that whoever looks sees its exit code or its signal."""
    if code < 0:
        with suppress(OSError):  # nobody handles SIGKILL
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code)


def main(command: list[str]) -> None:
    is_family = command[0] == FAMILY
    if is_family or (sys.platform != "linux" and HOLDER in os.environ):  # no other system ends it with its parent
        _end_alike(lead(command[is_family:], int(os.environ[HOLDER])))
    put_on()
    os.execv(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
