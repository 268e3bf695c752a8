"""Send a sample's events to the worker. Decoding only appends to a list; a thread sends what has gathered."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from time import perf_counter_ns

from decoding.events import Anticipated, Drafted, Event, Verified
from decoding.measure.comparison import Key
from worker.comparison_messages import Grew, Which
from worker.messages import Say

EVERY = 0.1  # s


def which(key: Key) -> Which:
    return key.choice.label, key.prompt.id, key.repeat


class Trace:
    """Events of one sample that are not sent yet: at most what 100 ms bring."""

    def __init__(self, key: Key, word: Callable[[int], str]) -> None:
        self.which = which(key)
        self.sent = 0
        self._events: list[tuple[int, Event]] = []  # each with when it came
        self._word = word
        self._shown: set[int] = set()

    def emit(self, event: Event) -> None:
        self._events.append((perf_counter_ns(), event))

    def take(self) -> Grew | None:
        gathered, first = self._events[:], self.sent + 1
        if not gathered:
            return None
        del self._events[: len(gathered)]
        fresh = [event for _, event in gathered]
        self.sent += len(fresh)
        new = {token for event in fresh for token in tokens_of(event)} - self._shown
        self._shown |= new
        return Grew(self.which, first, fresh, {token: self._word(token) for token in new}, gathered[0][0])


def tokens_of(event: Event) -> tuple[int, ...]:
    match event:
        case Drafted():
            return event.tokens
        case Verified():
            return (event.token,)
        case Anticipated():
            return tuple(token for _, token, _ in event.branches)
        case _:
            return ()


class Tracing:
    def __init__(self, say: Say, decode: Callable[[Sequence[int]], str]) -> None:
        self._say = say
        self._word = functools.cache(lambda token: decode([token]))
        self._trace: Trace | None = None
        self._lock = threading.Lock()  # never taken by the decode loop
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Tracing:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def sink_for(self, key: Key) -> Trace:
        self._trace = Trace(key, self._word)
        return self._trace

    def flush(self) -> int:
        """Send all there is, and return how many events of the sample were sent in all. Call it before the sample is
        reported, so that whoever reads of its end can read all of it."""
        with self._lock:
            if self._trace is None:
                return 0
            grew = self._trace.take()
            if grew:
                self._say(grew)
            return self._trace.sent

    def _run(self) -> None:
        while not self._stop.wait(EVERY):
            self.flush()
