"""News for those who watch: one database reader per process for all who follow the same source.

Whoever changes something announces it to a group on the channel layer, once it is committed. A subscription then reads
once and delivers what it found to all its readers, so 50 pages or 500 long polls cost the database as much as one. An
announcement carries nothing, because the news is in the database. It may be lost: a subscription also reads every 2 s.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from asgiref.sync import async_to_sync
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from django.core.exceptions import ObjectDoesNotExist
from django.db import Error as DatabaseError
from django.db import transaction
from redis.exceptions import RedisError

from webapp.core.outage import Outage

logger = logging.getLogger("drafthouse.news")
_outage = Outage("the channel layer", logger, meanwhile="watchers look on their own")  # a worker announces every event
SMALLEST_GAP = 0.05  # s between two readings
LOOK_AGAIN = 2.0  # s; an announcement may be lost

Deliver = Callable[[Any], None]


def announce(group: str) -> None:
    """Tell a group that something changed, once the change is committed."""
    layer = get_channel_layer()
    if layer is not None:
        transaction.on_commit(lambda: _send(layer, group))


def _send(layer: Any, to: str) -> None:
    try:
        async_to_sync(layer.group_send)(to, {"type": "changed"})
        _outage.ends()
    except (RedisError, OSError) as error:
        _outage.begins(error)


@dataclass(frozen=True, slots=True)
class NewsSource:
    """A thing to follow. Readers of the same key share one subscription."""

    key: str
    group: str  # to which its changes are announced
    read: Callable[[], Any]


class Subscription:
    def __init__(self, source: NewsSource) -> None:
        self.source = source
        self.readers: set[Deliver] = set()
        self.has_news = asyncio.Event()
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        listening = asyncio.create_task(self._listen())
        try:
            while True:
                await within(LOOK_AGAIN, self.has_news)
                self.has_news.clear()  # before reading, so that the next turn reads what comes meanwhile
                await self._read()
                await asyncio.sleep(SMALLEST_GAP)
        finally:
            listening.cancel()

    async def _listen(self) -> None:
        """Join the group. There is news then, of the changes before, and at every announcement. If the channel layer
        does not answer, there is news once."""
        layer = get_channel_layer()
        try:
            if layer is None:
                return
            channel = await layer.new_channel()
            await layer.group_add(self.source.group, channel)
            try:
                while True:
                    self.has_news.set()
                    await layer.receive(channel)
            finally:
                await layer.group_discard(self.source.group, channel)
        except (RedisError, OSError) as error:
            logger.warning("the channel layer does not answer (%s); watchers look on their own", error)
        finally:
            self.has_news.set()

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
        subscription.has_news.set()
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


async def within(seconds: float, event: asyncio.Event) -> None:
    """Wait for the event, at most for these seconds. `asyncio.wait_for` can lose a cancellation that comes together
    with the event."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
