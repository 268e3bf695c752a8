"""Send samples' events to the worker. Decoding only appends to a list; a thread sends what has gathered."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter_ns

from decoding.measure.schedule import SampleKey
from decoding.trace.events import Anticipated, Delivered, Drafted, Event, EventSink, NullSink, Verified
from worker.jobs.comparison.messages import Began, Grew, SampleId, TracesGrown
from worker.messages import Emit

EVERY = 0.1  # s


def which(key: SampleKey) -> SampleId:
    return key.choice.label, key.prompt.id, key.repeat


class UnsentTrace:
    """Events of one sample that are not sent yet: at most what 100 ms bring."""

    def __init__(self, key: SampleKey, word: Callable[[int], str]) -> None:
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
        case Drafted() | Delivered():
            return event.tokens
        case Verified():
            return (event.token,)
        case Anticipated():
            return tuple(token for _, token, _ in event.branches)
        case _:
            return ()


class Tracing:
    def __init__(self, emit: Emit, decode: Callable[[Sequence[int]], str], *, is_traced: bool = True) -> None:
        self._say, self._is_traced = emit, is_traced
        self._word = functools.cache(lambda token: decode([token]))
        self._traces: dict[SampleId, UnsentTrace] = {}  # of the samples that are being decoded
        self._lock = threading.Lock()  # never taken while a sample emits events
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Tracing:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def sink_for(self, key: SampleKey) -> EventSink:
        """Report that the sample begins, and return where its events go."""
        self._say(Began(which(key)))
        if not self._is_traced:
            return NullSink()
        trace = UnsentTrace(key, self._word)
        with self._lock:
            self._traces[trace.which] = trace
        return trace

    def finish(self, which: SampleId) -> int:
        """Send what is left of the sample's trace, and return how many events it has. Call it before the sample is
        reported, so that whoever reads of its end can read all of it."""
        with self._lock:
            trace = self._traces.pop(which, None)
            self._send([trace] if trace else [])
            return trace.sent if trace else 0

    def _send(self, traces: Iterable[UnsentTrace]) -> None:
        grown = [grew for trace in traces if (grew := trace.take())]
        if grown:
            self._say(TracesGrown(grown))

    def _run(self) -> None:
        while not self._stop.wait(EVERY):
            with self._lock:
                self._send(self._traces.values())
