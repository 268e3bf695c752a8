"""Read the one message that a client may send, by socket or query: the cursors to go on from."""

from __future__ import annotations

import json
from datetime import datetime
from uuid import UUID

from django.utils.dateparse import parse_datetime

LONGEST_MESSAGE = 64 * 1024
MOST_FOLLOWED = 500


class Unreadable(ValueError):
    """A message that cannot be read; the sentence says why."""


def read_follow(text: str | None) -> tuple[datetime | None, dict[UUID, int]]:
    """Read `{"t": "follow", "since": …, "after": {sample: seq}}`."""
    if text is None or len(text) > LONGEST_MESSAGE:
        raise Unreadable(f"It must be text of at most {LONGEST_MESSAGE} characters.")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("It is not JSON.") from None
    if not isinstance(message, dict) or message.get("t") != "follow":
        raise Unreadable('It must be {"t": "follow", …}.')
    return read_since(message.get("since") or ""), read_cursors(message.get("after") or {})


def read_since(text: object) -> datetime | None:
    if text == "":
        return None
    try:
        moment = parse_datetime(text) if isinstance(text, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or not 1970 < moment.year < 9000:
        raise Unreadable("`since` must be a moment with its time zone, as a samples frame gave it.")
    return moment


def read_cursors(after: object) -> dict[UUID, int]:
    if not isinstance(after, dict):
        raise Unreadable("`after` must say for each sample the last seq that you have.")
    cursors = {}
    for sample, seq in after.items():
        try:
            pk = UUID(sample)
        except ValueError:
            raise Unreadable("`after` names a sample that is not an id.") from None
        if isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq < 2**31:
            raise Unreadable("A seq must be a whole number, not negative.")
        cursors[pk] = seq
    if len(cursors) > MOST_FOLLOWED:
        raise Unreadable(f"At most {MOST_FOLLOWED} samples can be followed at once, and `after` names more.")
    return cursors
