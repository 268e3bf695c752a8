"""Nudges on the channel layer wake those who watch. A nudge carries nothing, because the news is in the database, so a
lost one costs a moment, never an event."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from redis.exceptions import RedisError

from webapp.core.outage import Outage

logger = logging.getLogger("drafthouse.nudges")
_outage = Outage("the channel layer", logger, meanwhile="watchers look on their own")  # a worker nudges for every event


def nudge(group: str) -> None:
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


async def listen(group: str, nudged: Callable[[], None]) -> None:
    """Join the group, then call `nudged`: for the changes before, and at every nudge from then on. If the channel layer
    does not answer, call it once."""
    layer = get_channel_layer()
    try:
        if layer is None:
            return
        channel = await layer.new_channel()
        await layer.group_add(group, channel)
        try:
            while True:
                nudged()
                await layer.receive(channel)
        finally:
            await layer.group_discard(group, channel)
    except (RedisError, OSError) as error:
        logger.warning("the channel layer does not answer (%s); watchers look on their own", error)
    finally:
        nudged()


async def within(seconds: float, event: asyncio.Event) -> None:
    """Wait for the event, at most for these seconds. `asyncio.wait_for` can lose a cancellation that comes together
    with the event."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
