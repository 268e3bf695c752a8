"""A process that imports all that needs no settings, then forks a process for each piece of code that it is sent.

A fork sets up Django in 0.06 s of CPU, a new process in 0.55 s. Each line of standard input is a request, each line of
standard output an answer, both as JSON. The process ends with its input.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import django.core.management
import django.db.backends.postgresql.base
import django.db.backends.sqlite3.base
import django.db.migrations.executor
import django.test  # noqa: F401
import environ  # noqa: F401
import psycopg_pool  # noqa: F401

import decoding.public  # noqa: F401


def serve() -> str:
    """Answer every request. Return only in a fork: the code to run there."""
    for line in sys.stdin:
        asked = json.loads(line)
        with TemporaryFile() as out, TemporaryFile() as err:
            fork = os.fork()
            if fork == 0:
                become(asked, out, err)
                return str(asked["code"])
            _, status = os.waitpid(fork, 0)
            answer = [os.waitstatus_to_exitcode(status), *(text_of(file) for file in (out, err))]
        os.write(1, json.dumps(answer).encode() + b"\n")
    sys.exit()


def become(asked: dict[str, Any], out: IO[bytes], err: IO[bytes]) -> None:
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    with Path(os.devnull).open() as nothing:
        for descriptor, file in enumerate((nothing, out, err)):
            os.dup2(file.fileno(), descriptor)
    sys.argv = asked["argv"]


def text_of(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


if __name__ == "__main__":
    exec(serve(), {"__name__": "__main__"})
