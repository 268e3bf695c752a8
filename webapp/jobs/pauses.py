"""Pause and resume queues, which only the operator may."""

from __future__ import annotations

from django.db import transaction
from django.utils import timezone

from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import Forbidden, NotFound
from webapp.jobs import nudging
from webapp.jobs.models import Pause, Queue

LONGEST_REASON = 200  # characters


@transaction.atomic
def pause(*, queue: Queue, reason: str, by: Actor) -> Pause:
    """Take nothing from this queue until it is resumed. A queue serves all teams, so this is the operator's."""
    _require_operator(by)
    paused, _ = Pause.objects.update_or_create(
        queue=queue, defaults={"since": timezone.now(), "by": by.user, "reason": reason}
    )
    audit.record(by, "paused", paused)
    return paused


@transaction.atomic
def resume(*, queue: Queue, by: Actor) -> None:
    _require_operator(by)
    for paused in Pause.objects.filter(queue=queue):
        audit.record(by, "resumed", paused)
        paused.delete()
    transaction.on_commit(lambda: nudging.nudge(queue))


def queue_called(name: str) -> Queue:
    if name not in Queue.values:
        raise NotFound(f"There is no queue {name[:40]!r}; there are {', '.join(Queue.values)}.")
    return Queue(name)


def _require_operator(by: Actor) -> None:
    by.require(Right.ADMIN)
    if not by.user.is_operator:
        raise Forbidden("Only the operator of this server may do this.", code="operators-only")
