"""Relay: reads a comparison or a job once for all its readers in this process, so 50 pages cost as much as one.

A relay joins the group before it reads, and a reader joins the relay before it reads on its own. Each reader sifts by
its own cursors, so it sends once what both bring.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property
from typing import Protocol
from uuid import UUID
from weakref import WeakKeyDictionary

from channels.db import database_sync_to_async
from django.core.exceptions import ObjectDoesNotExist
from django.db import Error as DatabaseError
from django.utils import timezone

from webapp.comparisons.frames import Frame
from webapp.core.nudges import listen, within

logger = logging.getLogger("drafthouse.live")
SMALLEST_GAP = 0.05  # between two readings: at most twenty a second
LOOK_AGAIN = 2.0  # nudges may be lost
LONGEST_WAIT = 3.0  # for the channel layer

Deliver = Callable[[list[Frame]], None]
_relays: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, Relay]] = WeakKeyDictionary()


class Watching(Protocol):
    """A watch of a comparison (`watch.Watch`) or of a job (`job_watch.JobWatch`)."""

    is_over: bool
    must_read: bool
    since: datetime | None

    @property
    def is_from_start(self) -> bool: ...
    @property
    def group(self) -> str: ...
    @property
    def cursors(self) -> dict[UUID, int]: ...
    def follow(self, after: dict[UUID, int], since: datetime | None = None) -> None: ...
    def sift(self, frames: list[Frame]) -> list[Frame]: ...
    def news(self, *, with_report: bool = True) -> list[Frame]: ...
    def report_news(self) -> list[Frame]: ...


async def join(watch: Watching, deliver: Deliver) -> Relay:
    """Join the relay of the watch's group. If there is none, start one that reads with `watch`."""
    relays = _relays.setdefault(asyncio.get_running_loop(), {})
    relay = relays.get(watch.group)
    if relay is None or relay.watch.is_over:
        relay = relays[watch.group] = Relay(watch)
    relay.readers.add(deliver)
    await relay.opened
    return relay


def leave(relay: Relay, deliver: Deliver) -> None:
    relay.readers.discard(deliver)
    if not relay.readers:
        relay.task.cancel()
        relays = _relays.get(asyncio.get_running_loop(), {})
        if relays.get(relay.watch.group) is relay:
            del relays[relay.watch.group]


class Relay:
    def __init__(self, watch: Watching) -> None:
        self.watch = watch
        self.watch.since = timezone.now()
        self.readers: set[Deliver] = set()
        self.changed = asyncio.Event()
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.reporting: asyncio.Task[None] | None = None
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        listening = asyncio.create_task(listen(self.watch.group, self._open, self.changed.set))
        try:
            await asyncio.wait({self.opened}, timeout=LONGEST_WAIT)
            self._open()  # without a channel layer the relay looks again on its own
            while not self.watch.is_over:
                await self._read()
                await asyncio.sleep(SMALLEST_GAP)
                await within(LOOK_AGAIN, self.changed)
        finally:
            listening.cancel()
            if self.reporting:
                self.reporting.cancel()

    def _open(self) -> None:
        if not self.opened.done():
            self.opened.set_result(None)

    async def _read(self) -> None:
        self.changed.clear()  # before reading, so that the next turn reads what comes meanwhile
        try:
            frames = await database_sync_to_async(self.watch.news, thread_sensitive=False)(with_report=False)
        except DatabaseError:
            logger.exception("the database does not answer; watchers wait")
            return
        except ObjectDoesNotExist:  # deleted; each reader finds that out on its own
            self.watch.is_over = True
            return
        self._deliver(frames)
        if self.reporting is None or self.reporting.done():
            self.reporting = asyncio.create_task(self._report())

    async def _report(self) -> None:
        """Make the report in a task of its own: events must not wait for it."""
        try:
            self._deliver(await database_sync_to_async(self.watch.report_news, thread_sensitive=False)())
        except (DatabaseError, ObjectDoesNotExist):
            logger.exception("the report cannot be worked out; pages keep the last one")

    def _deliver(self, frames: list[Frame]) -> None:
        if frames:
            shared: list[Frame] = [SharedFrame(frame) for frame in frames]
            for deliver in list(self.readers):
                deliver(shared)


class SharedFrame(Frame):
    """A frame for many readers, turned into JSON once."""

    @cached_property
    def text(self) -> str:
        return json.dumps(self, separators=(",", ":"))


def written(frames: Sequence[Frame]) -> str:
    """Write frames as one message of a socket."""
    texts = (frame if isinstance(frame, SharedFrame) else SharedFrame(frame) for frame in frames)
    return f"[{','.join(frame.text for frame in texts)}]"
