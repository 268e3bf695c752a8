"""The only module that reads and writes traces. Live page, late joiner, replay, export and API read here, each from a
cursor of its own.

The log in the database is the truth. What is announced on the channel layer only says that there is something new to
read: if it is lost, that costs a moment, never an event.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Q

from webapp.comparisons.models import Comparison, Sample, TraceChunk
from webapp.comparisons.packing import columns, columns_of, pack
from webapp.core.news import NewsSource
from webapp.jobs import log

SAMPLES_AT_ONCE = 100  # in one query
MOST_PACKED = 4096  # events in one chunk, so that reading from the middle of a long trace need not unpack all of it


@dataclass(frozen=True, slots=True)
class TracePart:
    """Consecutive events, and the texts of the tokens in them that were new to the trace."""

    events: list[dict[str, Any]] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)


def append(
    *, sample: Sample, first_seq: int, events: list[dict[str, Any]], words: Mapping[int, str] | None = None
) -> None:
    """Write consecutive events, then announce them. Writing them again does no harm."""
    chunk = TraceChunk(
        sample=sample,
        first_seq=first_seq,
        last_seq=first_seq + len(events) - 1,
        events=events,
        words={str(token): text for token, text in (words or {}).items()},
    )
    TraceChunk.objects.bulk_create([chunk], ignore_conflicts=True)
    log.announce(sample.run.comparison.job_id)


def read(*, sample: Sample, after: int, limit: int) -> TracePart:
    """Read events after the cursor, in order and without gaps."""
    return next((part for _, part in parts({sample.pk: after}, limit)), TracePart())


def parts(after: Mapping[UUID, int], limit: int) -> Iterator[tuple[UUID, TracePart]]:
    """Yield the events after each sample's cursor, in order and without gaps, in parts of at most `limit` events. One
    reading serves up to 100 samples. If a chunk is missing still, its sample's reading stops before it."""
    cursors = list(after.items())
    for start in range(0, len(cursors), SAMPLES_AT_ONCE):
        behind = (Q(sample=pk, last_seq__gt=seq) for pk, seq in cursors[start : start + SAMPLES_AT_ONCE])
        chunks = TraceChunk.objects.filter(reduce(or_, behind)).order_by("sample_id", "first_seq")
        for sample, its in itertools.groupby(chunks.iterator(20), key=lambda chunk: chunk.sample_id):
            yield from ((sample, part) for part in _joined(its, after[sample], limit))


def _joined(chunks: Iterable[TraceChunk], cursor: int, limit: int) -> Iterator[TracePart]:
    part = TracePart()
    for chunk in chunks:
        if chunk.first_seq > cursor + 1:
            break
        events, words = chunk.content
        part.events.extend(events[cursor + 1 - chunk.first_seq :])
        part.words.update(words)
        cursor = max(cursor, chunk.last_seq)
        while len(part.events) >= limit:
            yield TracePart(part.events[:limit], part.words)
            part = TracePart(part.events[limit:])
    if part.events:
        yield part


def source(sample: Sample) -> NewsSource:
    """The source to wait for until this trace grows."""
    rows = Sample.objects.filter(pk=sample.pk).values_list("last_seq").annotate(Max("chunks__last_seq"))
    return NewsSource(f"trace {sample.pk}", log.group(sample.run.comparison.job_id), lambda: list(rows.all()))


def source_of_all(comparison: Comparison) -> NewsSource:
    """The source to wait for until anything on a page of this comparison changes."""
    samples = Sample.objects.filter(run__comparison=comparison)
    jobs = Comparison.objects.filter(pk=comparison.pk).values_list("job__state", "job__attempt")
    growing = TraceChunk.objects.filter(sample__in=samples.filter(last_seq=None))

    def read() -> Any:
        counts = samples.aggregate(begun=Count("pk"), finished=Count("finished"), newest=Max("created"))
        return list(jobs.all()), counts, growing.aggregate(Max("pk"))

    return NewsSource(f"comparison {comparison.pk}", log.group(comparison.job_id), read)


def read_all(samples: Iterable[UUID]) -> Iterator[tuple[UUID, list[dict[str, Any]], dict[str, str]]]:
    """Return the traces of finished samples, each with all its events and words."""
    whole = parts(dict.fromkeys(samples, 0), sys.maxsize)
    return ((sample, part.events, part.words) for sample, part in whole)


def written(samples: Iterable[UUID]) -> dict[UUID, list[str]]:
    """Return the traces of finished samples as JSON, column by column as they are stored, so that nobody unpacks them
    here."""
    found: dict[UUID, list[str]] = {}
    chunks = TraceChunk.objects.filter(sample__in=list(samples)).order_by("sample_id", "first_seq")
    for chunk in chunks.iterator(200):
        text = columns(chunk.events, chunk.words) if chunk.packed is None else columns_of(chunk.packed)
        found.setdefault(chunk.sample_id, []).append(text)
    return found


def compact(*, sample: Sample) -> None:
    """Replace the many chunks of a finished trace by few. Call it in the transaction that ends the sample, so that the
    trace is never half done."""
    few: list[TraceChunk] = []
    cursor = 0
    while (part := read(sample=sample, after=cursor, limit=MOST_PACKED)).events:
        first, cursor = cursor + 1, cursor + len(part.events)
        packed = pack(part.events, part.words)
        few.append(TraceChunk(sample=sample, first_seq=first, last_seq=cursor, packed=packed))
    TraceChunk.objects.filter(sample=sample, last_seq__lte=cursor).delete()
    TraceChunk.objects.bulk_create(few)
