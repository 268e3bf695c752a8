"""Run a function of ours in a process of its own: strangers wrote what it opens, or it waits for what may hang.

`python -m worker.apart MODULE:FUNCTION …` is that process. It writes JSON lines: news while it works, and last the
`result`, or the `error` and its `sentence`.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from webapp.core.disk import is_disk_full
from worker import leash
from worker.disk import DISK_FULL, NotNow
from worker.evidence import how_it_ended


class Died(NotNow):
    """The process ended without a result; the message says how."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.code = code


def run(
    work: str,
    *arguments: str,
    doing: str,
    told: tuple[type[Exception], ...],
    may_go_on: Callable[[], bool],
    on_look: Callable[[Mapping[str, Any]], None] = lambda news: None,
    **environment: str,
) -> Any:
    """Return the result, or raise the error if it is one of `told`. `on_look` gets the news since the last look, again
    and again. `doing` says what failed if the process dies. Call this from the main thread: the leash is tied to the
    one that forks."""
    found: dict[str, Any] = {}

    def look(output: bytes) -> None:
        news: dict[str, Any] = {}
        for line in output.splitlines():
            news |= json.loads(line)
        found.update(news)
        on_look(news)

    code = leash.watch(["worker.apart", work, *arguments], may_go_on, look, **environment)
    if code == 0:
        return found["result"]
    for error in (*told, NotNow):
        if error.__name__ == found.get("error"):
            raise error(found["sentence"])
    why = found.get("sentence") or f"the process that does this was {how_it_ended(code)}"
    raise Died(f"{doing}: {why}.", code)


def say(**news: Any) -> None:
    """Write news, from the process."""
    assert sys.__stdout__ is not None
    sys.__stdout__.write(f"{json.dumps(news)}\n")  # one call: several threads write
    sys.__stdout__.flush()


def main(work: str, *arguments: str) -> int:
    leash.put_on()
    sys.__stdout__ = os.fdopen(os.dup(1), "w")  # type: ignore[misc]
    sys.stdout = sys.stderr  # what a library prints is no news,
    os.dup2(2, 1)  # in whatever language it prints
    module, _, name = work.partition(":")
    try:
        say(result=getattr(import_module(module), name)(*arguments))
    except Exception as error:
        told = NotNow(DISK_FULL) if is_disk_full(error) else error
        say(error=type(told).__name__, sentence=str(told))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
