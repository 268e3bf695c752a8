"""Traces as a table: a row for each round of each finished sample."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from webapp.comparisons import trace
from webapp.comparisons.behind import Bar
from webapp.comparisons.models import Comparison, Sample
from webapp.core.reading import each

AT_ONCE = 50  # samples whose traces are read together
SAMPLE = ("strategy", "prompt", "category", "repeat")
DRAFTED: dict[str, type] = {"lookahead": int, "stop": str, "source": str, "backup": str, "passes": int}
VERIFIED = ("accepted", "outcome", "wait_ns")
TIMES = ("draft_start_ns", "draft_end_ns", "verify_start_ns", "verify_end_ns")
COLUMNS = (*SAMPLE, "round", "drafted", *DRAFTED, *VERIFIED, *TIMES)

Events = list[dict[str, Any]]


def table(comparison: Comparison, bar: Bar | None = None) -> Iterator[Sequence[Any]]:
    """Yield one row for each round, or for each round behind a bar. Times are ns since the sample began."""
    yield [*COLUMNS, "cause_ns"] if bar else COLUMNS
    samples = bar.samples() if bar else Sample.objects.filter(run__comparison=comparison)
    for sample, events in _traces(samples):
        head = [sample.run.label, sample.prompt.name, sample.prompt.category, sample.repeat]
        if bar is None:
            yield from ([*head, *row] for row in _rounds(events))
        else:
            ns = bar.behind(events, bar.ends([sample])[sample.pk])
            yield from ([*head, *row, ns[row[0]]] for row in _rounds(events) if row[0] in ns)


def _traces(samples: Any) -> Iterator[tuple[Sample, Events]]:
    rows = samples.finished().select_related("run", "prompt").order_by("run__number", "prompt__number", "repeat")
    left = each(rows)
    while known := {sample.pk: sample for sample in itertools.islice(left, AT_ONCE)}:
        found = {pk: events for pk, events, _ in trace.read_all(known)}
        yield from ((sample, found.get(pk, [])) for pk, sample in known.items())


def _rounds(events: Events) -> Iterator[list[Any]]:
    drafts = {event["round"]: event for event in events if event["event"] == "drafted"}
    for event in events:
        if event["event"] == "verified":
            draft = drafts.get(event["round"], {})
            own = [draft.get(name, kind()) for name, kind in DRAFTED.items()]
            times = [draft.get("start_ns", 0), draft.get("end_ns", 0), event["start_ns"], event["end_ns"]]
            yield [event["round"], len(draft.get("tokens", ())), *own, *(event[name] for name in VERIFIED), *times]
