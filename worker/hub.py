"""Models from the Hugging Face hub, in the cache that other tools use too (HF_HOME). A process of its own fetches them,
because a download that hangs can only be ended from outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from decoding.errors import BadCheckpoint
from webapp.core.hub import HubModel
from worker import leash
from worker.disk import NotNow
from worker.evidence import how_it_ended

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
    found: dict[str, Any] = {}

    def read(output: bytes) -> None:
        news: dict[str, Any] = {}
        for line in output.splitlines():
            news |= json.loads(line)
        found.update(news)
        if "due" in news:
            on_progress(news["done"], news["due"])

    module = ["worker.fetching", model.hub_id, model.revision, *["ask"] * must_ask]
    code = leash.watch(module, may_go_on, read, **({"HF_TOKEN": token} if token else {}))
    return _result(model, code, found)


def _result(model: HubModel, code: int, found: dict[str, Any]) -> Path:
    if code == 0:
        return Path(found["folder"])
    if code < 0:
        raise NotNow(f"{model} could not be fetched: the process that fetches it was {how_it_ended(code)}.")
    sentence = found.get("sentence", f"{model} could not be fetched: what fetches it {how_it_ended(code)}.")
    raise {REFUSED: BadCheckpoint, LATER: NotNow}.get(code, Unreachable)(sentence)
