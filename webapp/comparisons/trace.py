"""The only door to traces. Live page, late joiner, replay, export and API read here, each from a cursor of its own.

The log in the database is the truth. A nudge on the channel layer only says that there is something new to read: one
that is lost costs a moment, never an event.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from webapp.comparisons.models import Sample, TraceChunk
from webapp.core import nudges


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive events, and the texts of the tokens in them that were new to the trace."""

    events: list[dict[str, Any]] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)


def append(
    *, sample: Sample, first_seq: int, events: list[dict[str, Any]], words: Mapping[int, str] | None = None
) -> None:
    """Write consecutive events, then nudge. Writing them again does no harm."""
    chunk = TraceChunk(
        sample=sample,
        first_seq=first_seq,
        last_seq=first_seq + len(events) - 1,
        events=events,
        words={str(token): text for token, text in (words or {}).items()},
    )
    TraceChunk.objects.bulk_create([chunk], ignore_conflicts=True)
    nudge(sample.run.comparison_id)


def read(*, sample: Sample, after: int, limit: int) -> Part:
    """Events after the cursor, in order and without holes: where a chunk is still missing, reading stops before it."""
    part = Part()
    cursor = after
    for chunk in TraceChunk.objects.filter(sample=sample, last_seq__gt=after).order_by("first_seq").iterator(20):
        if chunk.first_seq > cursor + 1 or len(part.events) >= limit:
            break
        part.events.extend(chunk.events[cursor + 1 - chunk.first_seq :])
        part.words.update(chunk.words)
        cursor = max(cursor, chunk.last_seq)
    del part.events[limit:]
    return part


def whole(samples: Iterable[UUID]) -> Iterator[tuple[UUID, list[dict[str, Any]]]]:
    """The traces of finished samples, each with all its events, in one reading."""
    chunks = TraceChunk.objects.filter(sample__in=list(samples)).order_by("sample_id", "first_seq")
    rows = chunks.values_list("sample_id", "first_seq", "events").iterator(200)
    for sample, parts in itertools.groupby(rows, key=lambda row: row[0]):
        events: list[dict[str, Any]] = []
        for _, first_seq, more in parts:
            events += more[len(events) + 1 - first_seq :]
        yield sample, events


def group(comparison: UUID) -> str:
    """Whom a nudge wakes: the watchers of this comparison and nobody else's."""
    return f"comparison.{comparison.hex}"


def nudge(comparison: UUID) -> None:
    """Say that something of this comparison changed, once it is committed: its trace, a sample, its job."""
    nudges.nudge(group(comparison))
