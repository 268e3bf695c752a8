"""Serve requests that arrive by a load: many texts in one batch, each in a place of its own."""

from __future__ import annotations

from collections import abc
from contextlib import ExitStack
from dataclasses import dataclass

import torch

from decoding.backends.contestants.base import Answers, Request
from decoding.core.batch_state import BatchState
from decoding.core.load import Arrived, RequestQueue
from decoding.core.loop import Batch
from decoding.core.sequence import Sequence
from decoding.models.runner import Model, ModelRunner
from decoding.trace.timing import Clock


@dataclass(frozen=True)
class TextCaches:
    """Caches for one text at a time."""

    target: ModelRunner
    draft: ModelRunner | None


class CachePool:
    """Places are made when so many are first needed, or longer ones, and used again by later texts."""

    def __init__(self, target: Model, draft: Model | None) -> None:
        self._target, self._draft = target, draft
        self._all: list[TextCaches] = []
        self._free: list[TextCaches] = []
        self._room = 0

    def take(self, most: int, room: int = 0) -> TextCaches | None:
        """Take a free place, the lowest first, unless `most` are in use. `room` is the most tokens of a text in any of
        them; 0: the whole context."""
        used = len(self._all) - len(self._free)
        if used >= most:
            return None
        is_enough = len(self._all) >= most and (not self._room or 0 < room <= self._room)
        if not is_enough and not used:  # texts share passes best if their places were made together
            self._all, self._free = [], []  # free their memory first
            self._room = room
            targets = self._target.new_runners(most, room)
            drafts = self._draft.new_runners(most, room) if self._draft else [None] * most
            self._all = [TextCaches(target, draft) for target, draft in zip(targets, drafts, strict=True)]
            self._free = list(self._all)
        return self._free.pop(0)

    def give_back(self, place: TextCaches) -> None:
        self._free.append(place)
        self._free.sort(key=self._all.index)


Begin = abc.Callable[[Arrived[Request], TextCaches, Clock, int], Sequence]  # the last: how long the request has waited


def serve(
    queue: RequestQueue[Request],
    places: CachePool,
    most: int,
    begin: Begin,
    cancelled: abc.Callable[[], bool],
    state: BatchState | None = None,
    room: int = 0,
) -> Answers:
    """Decode the requests of the queue, `most` at once, each in a place for `room` tokens. Clocks stop while the caller
    looks at an answer."""
    clock, batch = Clock(), Batch(state)
    running: dict[Sequence, tuple[Request, TextCaches]] = {}

    def admit() -> None:
        queue.arrive(clock.now())
        while not queue.is_empty and (place := places.take(most, room)):
            arrived = queue.take()
            with ExitStack() as unless_begun:
                unless_begun.callback(places.give_back, place)
                sequence = begin(arrived, place, Clock(beside=clock), clock.now() - arrived.at_ns)
                unless_begun.pop_all()
            running[sequence] = arrived.request, place
            batch.admit(sequence)

    try:
        while not cancelled():
            with torch.inference_mode():
                admit()
                ended = batch.play_round()
            for sequence in ended:
                request, place = running.pop(sequence)
                places.give_back(place)
                queue.answered()
                with clock.stopped():
                    yield request, sequence.error or sequence.decoded
            if not running:
                if queue.is_over:
                    return
                queue.wait(clock.now, cancelled)
    finally:
        for _, place in running.values():
            places.give_back(place)
