"""`python -m worker --queue cpu`: one worker for one queue. The one for `light` runs niced, beside the others."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
from collections.abc import Sequence

import django

from worker import leash, niceness

LIGHT = "light"


def main(argv: Sequence[str]) -> None:
    leash.put_on()
    parser = argparse.ArgumentParser(prog="python -m worker", description="Work through one queue of jobs.")
    parser.add_argument("--queue", choices=("cpu", "gpu", LIGHT), required=True)
    parser.add_argument("--name", help="who it is among workers, and the same after a restart")
    asked = parser.parse_args(argv)
    is_light = asked.queue == LIGHT
    if is_light:
        niceness.give_way()
    name = asked.name or f"{asked.queue}-{os.getpid()}@{socket.gethostname()}"

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
    django.setup()
    from webapp.core import logs, start
    from webapp.core.broker import app
    from worker.job_loop import JobLoop
    from worker.past import crash_note
    from worker.tasks import listen

    logs.name_process("worker", worker=name)
    start.wait(logging.getLogger("drafthouse.worker"))
    note = crash_note(name)
    if note.left:
        sys.stderr.write(f"The worker before this one crashed:\n{note.left}\n")
    job_loop = JobLoop(name, asked.queue, has_crashed=bool(note.left), keeps_engine=not is_light)
    listen(app, job_loop, asked.queue, name)


if __name__ == "__main__":
    main(sys.argv[1:])
