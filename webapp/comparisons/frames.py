"""Frames: messages that tell a page how a comparison goes on. A page begins with some; sockets and polls bring more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol
from uuid import UUID

from django.db.models import Count, Min, Q
from django.utils import timezone

from webapp.comparisons import trace
from webapp.comparisons.models import Comparison, Sample, SampleQuerySet
from webapp.core.reading import Picked
from webapp.jobs import log

EVENTS_AT_ONCE = 2000
DRAWN = (
    "pk", "run__number", "run__concurrency", "run__rate", "prompt__number", "repeat", "finished", "last_seq",
    "new_tokens", "tokens_per_s",
)  # fmt: skip
PICKED = ("drafts_by_position", "accepted_by_position", "audit.outcome", "timing.arrived_ns", "timing.queued_ns",
          "prefill_ns", "decode_ns")  # fmt: skip

Frame = dict[str, Any]


def status(comparison: Comparison) -> Frame:
    """State of the job: how far it is, and why it waits."""
    is_own = Q(attempt=comparison.job.attempt)
    found = Sample.objects.filter(run__comparison=comparison).aggregate(
        done=Count("pk", filter=Q(finished__isnull=False)),
        own=Count("pk", filter=is_own & Q(finished__isnull=False)),
        begun=Min("created", filter=is_own),
    )
    part_s = (timezone.now() - found["begun"]).total_seconds() / found["own"] if found["own"] else None
    total = comparison.runs.count() * comparison.limit * comparison.repeats
    return {"t": "comparison", **log.status_of(comparison.job, done=found["done"], total=total, part_s=part_s)}


class Traced(Protocol):
    """A sample, or those of its columns that reading its trace takes."""

    @property
    def pk(self) -> UUID: ...
    @property
    def last_seq(self) -> int | None: ...


def drawn(samples: SampleQuerySet) -> list[Any]:
    """Read the columns of samples that pages draw, in the order in which the samples began: of their numbers a few,
    because a page has thousands of samples, and each has a whole text in its numbers."""
    read = samples.order_by("created").annotate(picked=Picked("numbers", *PICKED))
    return list(read.values_list(*DRAWN, "picked", named=True))


def row(sample: Any) -> Frame:
    """A sample as pages draw it, of those that `drawn` read. /api/v1/samples/ has the rest of its numbers."""
    drafts, accepted, audit, *times_ns = sample.picked
    is_finished = sample.finished is not None
    span = _span(*times_ns) if is_finished else []
    return {
        "id": str(sample.pk),
        "run": sample.run__number,
        "prompt": sample.prompt__number,
        "repeat": sample.repeat,
        "is_finished": is_finished,
        "speed": _speed(sample, span),
        "span": span,
        "new_tokens": sample.new_tokens,
        "drafts_by_position": drafts or [],
        "accepted_by_position": accepted or [],
        "audit": audit,
    }


def _speed(sample: Any, span: Sequence[int]) -> float | None:
    """Tokens per second that speed-ups compare: of decoding for one user, of the whole request under load."""
    if not span or (sample.run__concurrency == 1 and not sample.run__rate):
        return None if sample.tokens_per_s is None else _six_digits(sample.tokens_per_s)
    _, queued, served = span
    return _six_digits((sample.new_tokens or 0) * 1e9 / (queued + served)) if queued + served else 0.0


def _six_digits(speed: float) -> float:
    """Six digits: more than anybody sees, and a page has a speed for each of its samples."""
    return float(f"{speed:.6g}")


def _span(arrived: int | None, queued: int | None, prefill: int | None, decode: int | None) -> list[int]:
    """When the request arrived, since its load began; how long it waited; how long it was served. In ns."""
    return [arrived or 0, queued or 0, (prefill or 0) + (decode or 0)]


def traces(samples: Sequence[Traced], cursors: dict[UUID, int]) -> list[Frame]:
    """Read what follows each sample's cursor, and move the cursor on: one reading for all samples."""
    frames: dict[UUID, list[Frame]] = {sample.pk: [] for sample in samples}
    behind = {sample.pk: cursors[sample.pk] for sample in samples if not _is_whole(sample, cursors)}
    for pk, part in trace.parts(behind, EVENTS_AT_ONCE):
        cursors[pk] = part.events[-1]["seq"]
        frames[pk].append({"t": "events", "sample": str(pk), "events": part.events, "words": part.words})
    for sample in samples:
        if _is_whole(sample, cursors):
            frames[sample.pk].append({"t": "complete", "sample": str(sample.pk), "last_seq": sample.last_seq})
    return [frame for its in frames.values() for frame in its]


def _is_whole(sample: Traced, cursors: dict[UUID, int]) -> bool:
    return sample.last_seq is not None and cursors[sample.pk] >= sample.last_seq
