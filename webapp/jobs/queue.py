"""The only door to the broker."""

from __future__ import annotations

import logging

from django.conf import settings
from kombu.exceptions import OperationalError

from webapp.core.broker import app

logger = logging.getLogger("drafthouse.queue")
LOOK = "drafthouse.look"  # the one task there is: "look into the database"; the worker declares it by this name
EXPIRES = 30  # s; while a worker is busy, no pile of nudges grows up


def nudge(queue: str) -> None:
    """Wake a worker. A nudge that is lost costs time, never work: workers also look on their own."""
    if not settings.BROKER_URL:
        return
    try:
        app.send_task(LOOK, queue=queue, ignore_result=True, retry=False, expires=EXPIRES)
    except OperationalError as error:
        logger.warning("the broker does not answer (%s); jobs wait until a worker sweeps", error)
