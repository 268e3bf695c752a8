"""Do a thing once, however often it is asked for with the same Idempotency-Key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from webapp.core.models import Answer
from webapp.core.problems import Conflict

REMEMBERED = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: Any
    location: str = ""


@transaction.atomic
def once(*, asker: str, key: str, fingerprint: str, act: Callable[[], Reply]) -> tuple[Reply, bool]:
    """Return the answer, and whether it was given before. A refusal is not stored: the request may be corrected and
    sent again."""
    Answer.objects.filter(created__lt=timezone.now() - REMEMBERED).delete()
    try:
        with transaction.atomic():  # of two requests at once, the second waits here for the first
            answer = Answer.objects.create(asker=asker, key=key, fingerprint=fingerprint)
    except IntegrityError:
        return _same(Answer.objects.get(asker=asker, key=key), fingerprint), True
    reply = act()
    Answer.objects.filter(pk=answer.pk).update(status=reply.status, body=reply.body, location=reply.location)
    return reply, False


def given(*, asker: str, key: str, fingerprint: str) -> Reply | None:
    """Return the answer that was given before, if there is one."""
    valid = Answer.objects.filter(created__gte=timezone.now() - REMEMBERED)
    earlier = valid.filter(asker=asker, key=key).first()
    return _same(earlier, fingerprint) if earlier else None


def _same(earlier: Answer, fingerprint: str) -> Reply:
    if earlier.fingerprint != fingerprint:
        raise Conflict(
            f"The Idempotency-Key {earlier.key!r} was used for another request within a day.",
            hint="Use a new key for a new request.",
            code="idempotency-key-reused",
        )
    return Reply(earlier.status, earlier.body, earlier.location)
