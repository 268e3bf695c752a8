"""Watch of a comparison: finds the frames that it has not found before. Sockets share one, besides what each asks for
itself; a long poll has its own. It does not know how frames travel.

    {"t": "comparison", …}  state of the job: how far it is, why it waits
    {"t": "samples", "rows": […], "since": …}  samples that began or finished
    {"t": "events", "sample": …, "events": […], "words": {…}}  more of a trace, in order and without holes
    {"t": "complete", "sample": …, "last_seq": n}  a trace is whole
    {"t": "report", …}  the verdict so far and each strategy's numbers
    {"t": "finished"}  nothing will follow
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import Q

from webapp.comparisons.frames import Frame, Traced, drawn, row, status, traces
from webapp.comparisons.models import Comparison, Sample
from webapp.comparisons.report import so_far
from webapp.jobs import log

MOST_UNSEEN = 64  # a reader that was away for long asks for older traces when it shows them
OVERLAP = timedelta(seconds=5)  # a row may become visible later than its time stamp


@dataclass
class Watch:
    comparison: UUID
    job: UUID
    cursors: dict[UUID, int] = field(default_factory=dict)  # samples followed, and the last seq that was found
    since: datetime | None = None
    found_rows: dict[UUID, str] = field(default_factory=dict)  # samples whose rows were found, and their state then
    _status: Frame = field(default_factory=dict)
    _reported: int = -1
    complete: set[UUID] = field(default_factory=set)  # samples whose whole trace was found
    is_over: bool = False

    @property
    def is_from_start(self) -> bool:
        """The reader has nothing yet, so everything is news."""
        return self.since is None

    @property
    def group(self) -> str:
        return log.group(self.job)

    def follow(self, after: dict[UUID, int], since: datetime | None = None) -> None:
        """Follow these samples' traces too, each from its seq, and samples from that moment on."""
        self.since = since or self.since
        self.cursors.update(after)
        self.complete -= after.keys()

    def readings(self) -> dict[str, Callable[[], list[Frame]]]:
        """Readings that sockets share. A report takes long to make, so events do not wait for it."""
        return {"news": partial(self.news, with_report=False), "report": self.report_news}

    def news(self, *, with_report: bool = True) -> list[Frame]:
        """Read everything that is new. The status is read first, so that "final" means "this is all"."""
        comparison = Comparison.objects.select_related("job").get(pk=self.comparison)
        is_final = comparison.job.is_final
        is_first = not self._status
        rows = self._rows(comparison)
        events = self._events([sample for sample, _ in rows])
        frames = self._comparison(comparison)
        if rows or is_first:
            since = self.since or comparison.created
            frames.append({"t": "samples", "rows": [row for _, row in rows], "since": since.isoformat()})
        frames += events
        if with_report or is_final:
            frames += self._report(comparison)
        if is_final and not self._unfinished_reading():
            self.is_over = True
            frames.append({"t": "finished"})
        return frames

    def report_news(self) -> list[Frame]:
        return self._report(Comparison.objects.select_related("job").get(pk=self.comparison))

    def _rows(self, comparison: Comparison) -> list[tuple[Any, Frame]]:
        """Read samples that began or finished, each once in each state, and their rows."""
        samples = Sample.objects.filter(run__comparison_id=self.comparison)
        if self.since is not None:
            samples = samples.filter(Q(finished=None) | Q(finished__gte=self.since - OVERLAP))
        found = [(sample, row(sample)) for sample in drawn(samples)]
        fresh = [(sample, shown) for sample, shown in found if self.found_rows.get(sample.pk) != state_of(shown)]
        self.found_rows |= {sample.pk: state_of(shown) for sample, shown in fresh}
        self._follow_latest([sample for sample, _ in fresh])
        self.since = max([self.since or comparison.created, *(s.finished for s, _ in fresh if s.finished)])
        return fresh

    def _follow_latest(self, fresh: list[Any]) -> None:
        """Follow samples that are being decoded, and those that began and ended since the last reading. The end of one
        may have become visible later than its time stamp."""
        for sample in fresh[-MOST_UNSEEN:]:
            is_unseen = sample.finished is None or (self.since and sample.finished > self.since - OVERLAP)
            if is_unseen and sample.pk not in self.complete:
                self.cursors.setdefault(sample.pk, 0)

    def _events(self, rows: list[Any]) -> list[Frame]:
        known: dict[UUID, Traced] = {sample.pk: sample for sample in rows}
        missing = [pk for pk in self.cursors if pk not in known]
        known |= Sample.objects.filter(run__comparison_id=self.comparison).only("last_seq").in_bulk(missing)
        for pk in self.cursors.keys() - known.keys():  # another attempt began them anew, or another comparison has them
            del self.cursors[pk]
        sent = traces([known[pk] for pk in self.cursors], self.cursors)
        for frame in sent:
            if frame["t"] == "complete":
                self.cursors.pop(UUID(frame["sample"]), None)
                self.complete.add(UUID(frame["sample"]))
        return sent

    def _unfinished_reading(self) -> bool:
        """Wait for a finished sample whose trace has a hole, but not for one that was cut off."""
        return Sample.objects.filter(pk__in=list(self.cursors)).finished().exists()

    def _comparison(self, comparison: Comparison) -> list[Frame]:
        frame = status(comparison)
        if log.is_same_status(frame, self._status):
            return []
        self._status = frame
        return [frame]

    def _report(self, comparison: Comparison) -> list[Frame]:
        report = so_far(comparison)
        if report["samples"] == self._reported:
            return []
        self._reported = report["samples"]
        return [{"t": "report", **report}]


def state_of(row: Frame) -> str:
    """The parts of a row that can change: it finishes, and later it is audited."""
    return f"{row['is_finished']} {row.get('audit')}"
