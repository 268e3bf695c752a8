"""Nudges: messages that tell workers to look at the database. Only this module sends to them."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from webapp.core.broker import app
from webapp.core.outage import Outage

logger = logging.getLogger("drafthouse.queue")
_outage = Outage("the broker", logger, meanwhile="jobs wait in the database")
LOOK = "drafthouse.look"  # the one task there is: "look into the database"; the worker declares it by this name


def nudge(queue: str) -> None:
    """Wake a worker. A nudge that is lost costs time, never work: the scheduler nudges again."""
    if not settings.BROKER_URL:
        return
    try:
        app.send_task(LOOK, queue=queue, ignore_result=True, retry=False)
        _outage.ends()
    except OperationalError as error:
        _outage.begins(error)


def nudge_again(queue: str) -> None:
    """Nudge unless a nudge still lies there, so that no pile of them grows while all workers are busy. A message that
    expires would do the same, but only if sender and worker agree on the time."""
    if not settings.BROKER_URL:
        return
    try:
        with app.connection_for_read() as connection:
            channel: Any = connection.default_channel  # of Redis, which alone has a client
            is_there = channel.client.llen(queue) > 0
    except (OperationalError, RedisError) as error:
        _outage.begins(error)
    else:
        if not is_there:
            nudge(queue)
