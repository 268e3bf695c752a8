"""One database reader per process for all requests that wait for the same thing.

A nudge says that a group changed. The reader asks the database whether that concerns any waiting request, and rings for
those that have not seen the change. Nudges may be lost, so the reader also looks every 2 s by itself. 500 requests that
wait for one comparison cost the database as much as one.
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
from django.db import Error as DatabaseError

from webapp.core.nudges import listen, within

logger = logging.getLogger("drafthouse.bells")
SMALLEST_GAP = 0.1  # s between two readings
LOOK_AGAIN = 2.0  # s; a nudge may be lost
LONGEST_JOINING = 3.0  # s; then it looks by itself

Listener = Callable[[], None]


@dataclass(frozen=True, slots=True)
class BellSource:
    """A thing to wait for. Requests with the same key share one reader."""

    key: str
    group: str  # the group whose nudges say that the value may have changed
    read: Callable[[], Any]  # returns another value after every change


class Bell:
    def __init__(self, source: BellSource) -> None:
        self.source = source
        self.value: Any = _UNREAD
        self.listeners: dict[Listener, Any] = {}  # each with the value that it has seen
        self.nudged = asyncio.Event()
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        joined = asyncio.Event()
        listening = asyncio.create_task(listen(self.source.group, joined.set, self.nudged.set))
        try:
            await within(LONGEST_JOINING, joined)
            while True:
                self.nudged.clear()
                await self._read()
                await asyncio.sleep(SMALLEST_GAP)
                await within(LOOK_AGAIN, self.nudged)
        finally:
            listening.cancel()

    async def _read(self) -> None:
        try:
            value = await database_sync_to_async(self.source.read, thread_sensitive=False)()
        except DatabaseError as error:
            logger.warning("the database does not answer (%s); requests wait on", error)
            return
        if value != self.value:
            self.value = value
            for listener in list(self.listeners):
                self.wake(listener)

    def wake(self, listener: Listener) -> None:
        if self.value is not _UNREAD and self.value != self.listeners[listener]:
            listener()


_UNREAD = object()
_bells: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Bell]] = WeakKeyDictionary()


@contextmanager
def listening(source: BellSource, seen: Any, listener: Listener) -> Iterator[None]:
    """Call `listener` at every change from `seen` while the context is open, and at once if `seen` is old already."""
    bells = _bells.setdefault(asyncio.get_running_loop(), {})
    bell = bells.get(source.key) or bells.setdefault(source.key, Bell(source))
    bell.listeners[listener] = seen
    bell.wake(listener)
    try:
        yield
    finally:
        del bell.listeners[listener]
        if not bell.listeners:
            bell.task.cancel()
            del bells[source.key]
