"""Frames: messages that tell a page how a comparison goes on. A page begins with some; sockets and polls bring more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, Q
from django.utils import timezone

from decoding.public import ONE
from webapp.comparisons import trace
from webapp.comparisons.models import Comparison, Sample
from webapp.jobs import log

EVENTS_AT_ONCE = 2000

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


def row(sample: Sample) -> Frame:
    """A sample as pages draw it. /api/v1/samples/ has the rest of its numbers."""
    return {
        "id": str(sample.pk),
        "run": sample.run.number,
        "prompt": sample.prompt.number,
        "repeat": sample.repeat,
        "is_finished": sample.finished is not None,
        "speed": _speed(sample),
        "span": _span(sample),
        "new_tokens": sample.new_tokens,
        "drafts_by_position": sample.numbers.get("drafts_by_position", []),
        "accepted_by_position": sample.numbers.get("accepted_by_position", []),
        "audit": (sample.numbers.get("audit") or {}).get("outcome"),
    }


def _speed(sample: Sample) -> float | None:
    """Tokens per second that speed-ups compare: of decoding for one user, of the whole request under load."""
    if sample.finished is None or sample.run.load == ONE:
        return None if sample.tokens_per_s is None else _drawn(sample.tokens_per_s)
    _, queued, served = _span(sample)
    return _drawn((sample.new_tokens or 0) * 1e9 / (queued + served)) if queued + served else 0.0


def _drawn(speed: float) -> float:
    """Six digits: more than anybody sees, and a page has a speed for each of its samples."""
    return float(f"{speed:.6g}")


def _span(sample: Sample) -> list[int]:
    """When the request arrived, since its load began; how long it waited; how long it was served. In ns, empty until it
    is finished."""
    if sample.finished is None:
        return []
    numbers = sample.numbers
    timing = numbers.get("timing", {})
    served = numbers.get("prefill_ns", 0) + numbers.get("decode_ns", 0)
    return [timing.get("arrived_ns", 0), timing.get("queued_ns", 0), served]


def traces(samples: Sequence[Sample], cursors: dict[UUID, int]) -> list[Frame]:
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


def _is_whole(sample: Sample, cursors: dict[UUID, int]) -> bool:
    return sample.last_seq is not None and cursors[sample.pk] >= sample.last_seq
