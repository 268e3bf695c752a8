"""One reader per process for all requests that wait for the same thing.

A nudge says that a group changed; the reader asks the database whether that concerns those who wait, and rings. Nudges
may be lost, so it also looks now and then by itself. Five hundred requests that wait for one comparison cost the
database as much as one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.core.exceptions import ObjectDoesNotExist
from django.db import Error as DatabaseError

from webapp.core.nudges import listen, within

logger = logging.getLogger("drafthouse.bells")
SMALLEST_GAP = 0.1  # s between two readings
LOOK_AGAIN = 2.0  # s; a nudge may be lost
LONGEST_JOINING = 3.0  # s; then it looks by itself

Listener = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Source:
    """Something to wait for. Requests with the same key share one reader."""

    key: str
    group: str  # whose nudges say that it may have changed
    is_changed: Callable[[], bool]  # whether it did since it was asked last


def changed(read: Callable[[], Any]) -> Callable[[], bool]:
    """A question that is answered with yes the first time, and whenever what is read is not what it was."""
    last: Any = object()

    def is_changed() -> bool:
        nonlocal last
        before, last = last, read()
        return bool(before != last)

    return is_changed


class Bell:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.listeners: set[Listener] = set()
        self.is_ready = False
        self.nudged = asyncio.Event()
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        joined = asyncio.Event()
        listening = asyncio.create_task(listen(self.source.group, joined.set, self.nudged.set))
        try:
            await within(LONGEST_JOINING, joined)
            while True:
                self.nudged.clear()
                if await self._is_changed():
                    self.ring()
                await asyncio.sleep(SMALLEST_GAP)
                await within(LOOK_AGAIN, self.nudged)
        finally:
            listening.cancel()

    async def _is_changed(self) -> bool:
        try:
            return await database_sync_to_async(self.source.is_changed, thread_sensitive=False)()
        except ObjectDoesNotExist:
            return True  # whoever waits finds out that it is gone
        except DatabaseError as error:
            logger.warning("the database does not answer (%s); requests wait on", error)
            return False

    def ring(self) -> None:
        self.is_ready = True
        for listener in list(self.listeners):
            listener()


_bells: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Bell]] = WeakKeyDictionary()


@contextmanager
def listening(source: Source, listener: Listener) -> Iterator[None]:
    """While in here, `listener` is called once the group is joined, and then at every change."""
    bells = _bells.setdefault(asyncio.get_running_loop(), {})
    bell = bells.get(source.key) or bells.setdefault(source.key, Bell(source))
    bell.listeners.add(listener)
    if bell.is_ready:
        listener()
    try:
        yield
    finally:
        bell.listeners.discard(listener)
        if not bell.listeners:
            bell.task.cancel()
            del bells[source.key]
