"""Traces as tables: a row for each round of each finished sample, and the answers as Spec-Bench writes them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from webapp.comparisons import trace
from webapp.comparisons.behind import Bar
from webapp.comparisons.models import Comparison, Run, Sample
from webapp.comparisons.report import run_called
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
    yield from _rows(comparison, bar)


def as_spec_bench(comparison: Comparison, label: str) -> Iterator[str]:
    """Stream an answer file of Spec-Bench: one line for each prompt of a strategy, with a choice for each repeat. Its
    tools read one strategy from a file, so a label names it."""
    run = run_called(comparison, label)
    return (f"{json.dumps(answer, ensure_ascii=False)}\n" for answer in _answers(run))


def _rows(comparison: Comparison, bar: Bar | None) -> Iterator[list[Any]]:
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
    for batch in _batches(each(rows)):
        known = {sample.pk: sample for sample in batch}
        found = {pk: events for pk, events, _ in trace.read_all(known)}
        yield from ((sample, found.get(pk, [])) for pk, sample in known.items())


def _batches(samples: Iterable[Sample]) -> Iterator[list[Sample]]:
    batch: list[Sample] = []
    for sample in samples:
        batch.append(sample)
        if len(batch) == AT_ONCE:
            yield batch
            batch = []
    if batch:
        yield batch


def _rounds(events: Events) -> Iterator[list[Any]]:
    drafts = {event["round"]: event for event in events if event["event"] == "drafted"}
    for event in events:
        if event["event"] == "verified":
            draft = drafts.get(event["round"], {})
            own = [draft.get(name, kind()) for name, kind in DRAFTED.items()]
            times = [draft.get("start_ns", 0), draft.get("end_ns", 0), event["start_ns"], event["end_ns"]]
            yield [event["round"], len(draft.get("tokens", ())), *own, *(event[name] for name in VERIFIED), *times]


def _answers(run: Run) -> Iterator[dict[str, Any]]:
    choices: list[dict[str, Any]] = []
    last: Sample | None = None
    for sample, events in _traces(run.samples.all()):
        if last and sample.prompt_id != last.prompt_id:
            yield _answer(last, choices)
            choices = []
        choices.append(_choice(len(choices), sample, events))
        last = sample
    if last:
        yield _answer(last, choices)


def _answer(sample: Sample, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "question_id": sample.prompt.number,
        "category": sample.prompt.category,
        "answer_id": str(sample.pk),
        "model_id": sample.run.label,
        "choices": choices,
        "tstamp": sample.finished.timestamp() if sample.finished else 0.0,
    }


def _choice(index: int, sample: Sample, events: Events) -> dict[str, Any]:
    """A text. Its time includes reading the prompt, as Spec-Bench measures it. A server does not tell its steps."""
    numbers = sample.numbers
    return {
        "index": index,
        "turns": [numbers["text"]],
        "decoding_steps": [passes] if (passes := numbers["num_target_passes"]) is not None else [],
        "new_tokens": [sample.new_tokens],
        "wall_time": [(numbers["prefill_ns"] + numbers["decode_ns"]) / 1e9],
        "accept_lengths": [event["accepted"] + 1 for event in events if event["event"] == "verified"],
    }
