"""Waking those who watch. A nudge on the channel layer carries nothing: what is new stands in the database, so one that
is lost costs a moment, never an event."""

from __future__ import annotations

import logging
import time
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from redis.exceptions import RedisError

logger = logging.getLogger("drafthouse.nudges")


class _Silence:
    """While the channel layer is away a worker nudges for every event; that it is away is said once."""

    def __init__(self) -> None:
        self.since = 0.0

    def begins(self, error: Exception) -> None:
        if not self.since:
            logger.warning("the channel layer does not answer (%s); until it does, watchers look on their own", error)
        self.since = self.since or time.monotonic()

    def ends(self) -> None:
        if self.since:
            logger.info("the channel layer answers again, after %.0f seconds", time.monotonic() - self.since)
        self.since = 0.0


_silence = _Silence()


def nudge(group: str) -> None:
    """Say to a group that something changed, once it is committed."""
    layer = get_channel_layer()
    if layer is not None:
        transaction.on_commit(lambda: _send(layer, group))


def _send(layer: Any, to: str) -> None:
    try:
        async_to_sync(layer.group_send)(to, {"type": "changed"})
        _silence.ends()
    except (RedisError, OSError) as error:
        _silence.begins(error)
