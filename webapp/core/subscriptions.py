"""Subscriptions: one database reader per process for all who follow the same source.

A nudge says that a group changed. The subscription reads once and delivers what it found to all its readers, so 50
pages or 500 long polls cost the database as much as one. Nudges may be lost, so it also reads every 2 s by itself.
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

logger = logging.getLogger("drafthouse.subscriptions")
SMALLEST_GAP = 0.05  # s between two readings
LOOK_AGAIN = 2.0  # s; a nudge may be lost

Deliver = Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class NewsSource:
    """A thing to follow. Readers of the same key share one subscription."""

    key: str
    group: str  # the group whose nudges say that there may be something new
    read: Callable[[], Any]


class Subscription:
    def __init__(self, source: NewsSource) -> None:
        self.source = source
        self.readers: set[Deliver] = set()
        self.nudged = asyncio.Event()
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        listening = asyncio.create_task(listen(self.source.group, self.nudged.set))
        try:
            while True:
                await within(LOOK_AGAIN, self.nudged)
                self.nudged.clear()  # before reading, so that the next turn reads what comes meanwhile
                await self._read()
                await asyncio.sleep(SMALLEST_GAP)
        finally:
            listening.cancel()

    async def _read(self) -> None:
        try:
            found = await database_sync_to_async(self.source.read, thread_sensitive=False)()
        except ObjectDoesNotExist:  # deleted; each reader finds that out on its own
            return
        except Exception as error:  # its readers, and those who join them, must not wait for a reader that is gone
            is_unknown = not isinstance(error, DatabaseError)
            logger.warning("cannot read %s (%s); its readers wait on", self.source.key, error, exc_info=is_unknown)
            return
        for deliver in list(self.readers):
            deliver(found)


_subscriptions: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Subscription]] = WeakKeyDictionary()


@contextmanager
def subscribed(source: NewsSource, deliver: Deliver) -> Iterator[None]:
    """Deliver readings of the source while the context is open. The first of them is made after it opens."""
    here = _subscriptions.setdefault(asyncio.get_running_loop(), {})
    if subscription := here.get(source.key):
        subscription.nudged.set()
    else:
        subscription = here[source.key] = Subscription(source)
    subscription.readers.add(deliver)
    try:
        yield
    finally:
        subscription.readers.remove(deliver)
        if not subscription.readers:
            subscription.task.cancel()
            del here[source.key]
