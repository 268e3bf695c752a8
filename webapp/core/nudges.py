"""Waking those who watch. A nudge on the channel layer carries nothing: what is new stands in the database, so one that
is lost costs a moment, never an event."""

from __future__ import annotations

import logging
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from redis.exceptions import RedisError

logger = logging.getLogger("drafthouse.nudges")


def nudge(group: str) -> None:
    """Say to a group that something changed, once it is committed."""
    layer = get_channel_layer()
    if layer is not None:
        transaction.on_commit(lambda: _send(layer, group))


def _send(layer: Any, to: str) -> None:
    try:
        async_to_sync(layer.group_send)(to, {"type": "changed"})
    except (RedisError, OSError) as error:
        logger.warning("the channel layer does not answer (%s); watchers look again on their own", error)
