"""Models from the Hugging Face hub, in the cache that other tools use too (HF_HOME). A process of its own fetches them,
because a download that hangs can only be ended from outside."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any

from decoding.errors import BadCheckpoint
from webapp.core.hub import HubModel
from worker import leash
from worker.disk import NotNow, Stopped
from worker.evidence import how_it_ended

LOOK_EVERY = 0.1  # s
REFUSED, UNREACHABLE, LATER = 3, 4, 5  # exit codes of worker.fetching

OnProgress = Callable[[int, int], None]  # bytes that are here, and bytes due


class Unreachable(Exception):
    """The hub does not answer from here; another machine may reach it."""


def ignore(done: int, due: int) -> None:
    """Tell nobody how many bytes have come."""


def fetch(
    model: HubModel,
    may_go_on: Callable[[], bool],
    on_progress: OnProgress = ignore,
    *,
    token: str = "",
    must_ask: bool = False,
) -> Path:
    """Return the model's folder in the cache, named by its commit; fetch what is not there. `token` takes the place of
    HF_TOKEN. With `must_ask` the hub is asked whether the token may have it, even if the cache holds it. Call this from
    the main thread: the leash is tied to the one that forks."""
    command = [sys.executable, "-P", "-m", "worker.fetching", model.hub_id, model.revision, *["ask"] * must_ask]
    env = {**leash.held(), **({"HF_TOKEN": token} if token else {})}
    found: dict[str, Any] = {}
    with subprocess.Popen(
        command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        has_ended = False
        try:
            while not has_ended:
                if not may_go_on():
                    raise Stopped
                time.sleep(LOOK_EVERY)
                has_ended = process.poll() is not None  # what it wrote before is read below
                news = [json.loads(line) for line in (process.stdout.read() or b"").splitlines()]
                found = reduce(or_, news, found)
                if any("due" in line for line in news):
                    on_progress(found["done"], found["due"])
        except BaseException:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            raise
    return _result(model, process.returncode, found)


def _result(model: HubModel, code: int, found: dict[str, Any]) -> Path:
    if code == 0:
        return Path(found["folder"])
    if code < 0:
        raise NotNow(f"{model} could not be fetched: the process that fetches it was {how_it_ended(code)}.")
    sentence = found.get("sentence", f"{model} could not be fetched: what fetches it {how_it_ended(code)}.")
    raise {REFUSED: BadCheckpoint, LATER: NotNow}.get(code, Unreachable)(sentence)
