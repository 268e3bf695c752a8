"""Models from the Hugging Face hub, in the cache that other tools use too (HF_HOME)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from decoding.errors import BadCheckpoint
from webapp.core.hub import HubModel
from worker import apart

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
    HF_TOKEN. With `must_ask` the hub is asked whether the token may have it, even if the cache holds it. A download
    that hangs can only be ended from outside, so a process of its own fetches."""

    def look(news: Mapping[str, Any]) -> None:
        if "due" in news:
            on_progress(news["done"], news["due"])

    folder = apart.run(
        "worker.fetching:fetch",
        model.hub_id,
        model.revision,
        *["ask"] * must_ask,
        doing=f"{model} could not be fetched",
        told=(BadCheckpoint, Unreachable),
        may_go_on=may_go_on,
        on_look=look,
        **({"HF_TOKEN": token} if token else {}),
    )
    return Path(folder)
