"""What one watcher of a comparison is told next. Socket and long-poll ask the same object, from the same cursors, and
pass on the same frames; nothing here knows how they travel.

    {"t": "comparison", …}  the state of the job: where it stands, how far it is, why it waits
    {"t": "samples", "rows": […], "since": …}  samples that began or finished
    {"t": "events", "sample": …, "events": […], "words": {…}}  more of a trace, in order and without holes
    {"t": "complete", "sample": …, "last_seq": n}  a trace was told to its end
    {"t": "report", …}  the verdict so far and each strategy's numbers
    {"t": "finished"}  nothing will follow
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, Q
from django.utils import timezone

from webapp.comparisons import trace
from webapp.comparisons.models import Comparison, Sample
from webapp.comparisons.report import so_far
from webapp.jobs import log

EVENTS_AT_ONCE = 2000
MOST_UNSEEN = 64  # who was away for long asks for older traces when they are looked at
OVERLAP = timedelta(seconds=5)  # a row may be seen later than the moment it is stamped with

Frame = dict[str, Any]
_EVER = datetime.min.replace(tzinfo=UTC)


@dataclass
class Watch:
    comparison: UUID
    cursors: dict[UUID, int] = field(default_factory=dict)  # samples whose traces are told, and how far
    since: datetime | None = None
    told: dict[UUID, str] = field(default_factory=dict)  # samples whose rows were told, and in which state
    _status: Frame = field(default_factory=dict)
    _reported: int = -1
    whole: set[UUID] = field(default_factory=set)  # samples whose traces were told to their end
    must_read: bool = True  # what others have read does not suffice
    is_over: bool = False

    @property
    def is_from_start(self) -> bool:
        """Who asks has nothing yet, so whatever there is is news."""
        return self.since is None

    @property
    def group(self) -> str:
        return trace.group(self.comparison)

    def follow(self, after: dict[UUID, int], since: datetime | None = None) -> None:
        """Also tell of these samples' traces, each from the seq given; and of samples from then on."""
        self.since = since or self.since
        self.cursors.update(after)
        self.whole -= after.keys()
        self.must_read = True

    def sift(self, frames: list[Frame]) -> list[Frame]:
        """Of frames that another reading brought, what is new here. Anything that does not join on is read anew, and so
        is what ended without its trace: who brought it took it for older than itself, because a row is stamped a moment
        before others see it."""
        found = [fresh for frame in frames if (fresh := self._sifted(frame))]
        ended = {
            UUID(row["id"]) for frame in found if frame["t"] == "samples" for row in frame["rows"] if row["is_finished"]
        }
        self.must_read |= bool(ended & self.cursors.keys())
        return found

    def _sifted(self, frame: Frame) -> Frame | None:
        match frame["t"]:
            case "events":
                return self._sifted_events(frame)
            case "complete":
                return self._sifted_end(frame)
            case "samples":
                return self._sifted_rows(frame)
            case "comparison":
                is_told, self._status = log.is_same_status(frame, self._status), frame
                return None if is_told else frame
            case "report":
                is_told, self._reported = frame["samples"] == self._reported, frame["samples"]
                return None if is_told else frame
            case "finished":  # whether all was told is for this watcher to find out
                self.must_read = True
                return None
        return frame

    def _sifted_rows(self, frame: Frame) -> Frame | None:
        self.since = max(self.since or _EVER, datetime.fromisoformat(frame["since"]))
        fresh = {UUID(row["id"]): row for row in frame["rows"] if self.told.get(UUID(row["id"])) != state_of(row)}
        self.told |= {sample: state_of(row) for sample, row in fresh.items()}
        ended = {sample for sample, row in fresh.items() if row["is_finished"] and not row.get("audit")}
        self.cursors |= {sample: 0 for sample in ended - self.cursors.keys() - self.whole}
        return {**frame, "rows": list(fresh.values())} if fresh else None

    def _sifted_events(self, frame: Frame) -> Frame | None:
        sample, events = UUID(frame["sample"]), frame["events"]
        have = self.cursors.setdefault(sample, 0) if sample not in self.whole else events[-1]["seq"]
        if events[-1]["seq"] <= have:
            return None
        if events[0]["seq"] > have + 1:
            self.must_read = True
            return None
        self.cursors[sample] = events[-1]["seq"]
        known = have + 1 - events[0]["seq"]
        return {**frame, "events": events[known:]} if known else frame

    def _sifted_end(self, frame: Frame) -> Frame | None:
        sample = UUID(frame["sample"])
        if sample in self.whole:
            return None
        if self.cursors.get(sample, 0) < frame["last_seq"]:
            self.must_read = True
            return None
        self._told_whole(sample)
        return frame

    def _told_whole(self, sample: UUID) -> None:
        self.cursors.pop(sample, None)
        self.whole.add(sample)

    def news(self, *, with_report: bool = True) -> list[Frame]:
        """Everything that is new. Each status is read before what it promises, so that "final" means "this is all".
        A report takes a while to work out, so who must not keep others waiting asks for it apart."""
        self.must_read = False
        comparison = Comparison.objects.select_related("job").get(pk=self.comparison)
        is_final = comparison.job.is_final
        is_first = not self._status
        rows = self._rows(comparison)
        traces = self._traces(rows)
        frames = self._comparison(comparison)
        if rows or is_first:
            since = self.since or comparison.created
            frames.append({"t": "samples", "rows": [row(sample) for sample in rows], "since": since.isoformat()})
        frames += traces
        if with_report or is_final:
            frames += self._report(comparison)
        if is_final and not self._unfinished_reading():
            self.is_over = True
            frames.append({"t": "finished"})
        return frames

    def report_news(self) -> list[Frame]:
        return self._report(Comparison.objects.select_related("job").get(pk=self.comparison))

    def _rows(self, comparison: Comparison) -> list[Sample]:
        """Samples that began or finished, each once in each state."""
        samples = Sample.objects.filter(run__comparison_id=self.comparison).select_related("run", "prompt")
        if self.since is not None:
            samples = samples.filter(Q(finished=None) | Q(finished__gte=self.since - OVERLAP))
        fresh = [sample for sample in samples.order_by("created") if self.told.get(sample.pk) != state_of(row(sample))]
        self.told |= {sample.pk: state_of(row(sample)) for sample in fresh}
        self._follow_latest(fresh)
        self.since = max([self.since or comparison.created, *(s.finished for s in fresh if s.finished)])
        return fresh

    def _follow_latest(self, fresh: list[Sample]) -> None:
        """What is being decoded, and what began and ended unseen since the last time."""
        for sample in fresh[-MOST_UNSEEN:]:
            is_unseen = sample.finished is None or (self.since is not None and sample.finished > self.since)
            if is_unseen and sample.pk not in self.whole:
                self.cursors.setdefault(sample.pk, 0)

    def _traces(self, rows: list[Sample]) -> list[Frame]:
        known = {sample.pk: sample for sample in rows}
        missing = [pk for pk in self.cursors if pk not in known]
        known |= Sample.objects.filter(run__comparison_id=self.comparison).in_bulk(missing)
        for pk in [pk for pk in self.cursors if pk not in known]:  # begun anew by another attempt, or never ours
            del self.cursors[pk]
        return self._told([known[pk] for pk in self.cursors])

    def traces(self, samples: Sequence[Sample]) -> list[Frame]:
        """Nothing but these samples' traces, from their start: what a page of what is over begins with."""
        self.cursors = {sample.pk: 0 for sample in samples}
        return self._told(samples)

    def _told(self, samples: Sequence[Sample]) -> list[Frame]:
        """What is new of these samples' traces, and which of them are whole with it: one reading for all."""
        frames: dict[UUID, list[Frame]] = {sample.pk: [] for sample in samples}
        behind = {sample.pk: self.cursors[sample.pk] for sample in samples if not self._is_at_its_end(sample)}
        for pk, part in trace.parts(behind, EVENTS_AT_ONCE):
            self.cursors[pk] = part.events[-1]["seq"]
            frames[pk].append({"t": "events", "sample": str(pk), "events": part.events, "words": part.words})
        for sample in samples:
            if self._is_at_its_end(sample):
                self._told_whole(sample.pk)
                end = {"t": "complete", "sample": str(sample.pk), "last_seq": sample.last_seq}
                frames[sample.pk].append(end)
        return [frame for its in frames.values() for frame in its]

    def _is_at_its_end(self, sample: Sample) -> bool:
        return sample.last_seq is not None and self.cursors[sample.pk] >= sample.last_seq

    def _unfinished_reading(self) -> bool:
        """A finished sample whose trace has a hole is waited for; one that was cut off will not go on."""
        return Sample.objects.filter(pk__in=list(self.cursors)).finished().exists()

    def _comparison(self, comparison: Comparison) -> list[Frame]:
        status = {"t": "comparison", **status_of(comparison)}
        if log.is_same_status(status, self._status):
            return []
        self._status = status
        return [status]

    def _report(self, comparison: Comparison) -> list[Frame]:
        report = so_far(comparison)
        if report["samples"] == self._reported:
            return []
        self._reported = report["samples"]
        return [{"t": "report", **report}]


def status_of(comparison: Comparison) -> Frame:
    is_own = Q(attempt=comparison.job.attempt)
    found = Sample.objects.filter(run__comparison=comparison).aggregate(
        done=Count("pk", filter=Q(finished__isnull=False)),
        own=Count("pk", filter=is_own & Q(finished__isnull=False)),
        begun=Min("created", filter=is_own),
    )
    part_s = (timezone.now() - found["begun"]).total_seconds() / found["own"] if found["own"] else None
    total = comparison.runs.count() * comparison.limit * comparison.repeats
    return log.status_of(comparison.job, done=found["done"], total=total, part_s=part_s)


def state_of(row: Frame) -> str:
    """What of a row can change: it is finished, and later audited."""
    return f"{row['is_finished']} {row.get('audit')}"


def row(sample: Sample) -> Frame:
    """A sample as pages draw it. The rest of its numbers is at /api/v1/samples/."""
    return {
        "id": str(sample.pk),
        "run": sample.run.number,
        "prompt": sample.prompt.number,
        "repeat": sample.repeat,
        "is_finished": sample.finished is not None,
        "tokens_per_s": sample.tokens_per_s,
        "new_tokens": sample.new_tokens,
        "drafts_by_position": sample.numbers.get("drafts_by_position", []),
        "accepted_by_position": sample.numbers.get("accepted_by_position", []),
        "audit": (sample.numbers.get("audit") or {}).get("outcome"),
    }
