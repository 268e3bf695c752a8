"""Waking those who watch. A nudge on the channel layer carries nothing: what is new stands in the database, so one that
is lost costs a moment, never an event."""

from __future__ import annotations

import logging
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import transaction
from redis.exceptions import RedisError

from webapp.core.outage import Outage

logger = logging.getLogger("drafthouse.nudges")
_outage = Outage("the channel layer", logger, meanwhile="watchers look on their own")  # a worker nudges for every event


def nudge(group: str) -> None:
    """Say to a group that something changed, once it is committed."""
    layer = get_channel_layer()
    if layer is not None:
        transaction.on_commit(lambda: _send(layer, group))


def _send(layer: Any, to: str) -> None:
    try:
        async_to_sync(layer.group_send)(to, {"type": "changed"})
        _outage.ends()
    except (RedisError, OSError) as error:
        _outage.begins(error)
