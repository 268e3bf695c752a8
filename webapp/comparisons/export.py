"""Samples as a table for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from decoding.public import ONE, summary
from webapp.comparisons.models import Comparison, Sample, SampleQuerySet
from webapp.core.reading import each

COLUMNS = (
    "strategy", "prompt", "category", "repeat", "attempt", "device", "new_tokens", "tokens_per_s", "baseline",
    "speedup",
)  # fmt: skip
NUMBERS = (
    "prompt_tokens", "reason", "prefill_ns", "decode_ns", "draft_ns", "verify_ns", "num_target_passes",
    "num_draft_passes", "num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens",
)  # fmt: skip
LOAD = ("concurrency", "rate", "end_to_end_tokens_per_s")
TIMES = ("arrived_ns", "queued_ns", "first_ns")
SPENT = ("numbers__prefill_ns", "numbers__decode_ns", "numbers__timing__queued_ns")


class Echo:
    def write(self, line: str) -> str:
        return line


def as_csv(comparison: Comparison, baseline: str) -> Iterator[str]:
    """Stream one line for each finished sample. Its speed-up is the ratio to the baseline at the same load."""
    writer = csv.writer(Echo())
    yield writer.writerow((*COLUMNS, *NUMBERS, *LOAD, *TIMES))
    base = summary.baselines([run.choice for run in comparison.runs.all()], baseline)
    samples = Sample.objects.filter(run__comparison=comparison).finished()
    alone = _speeds(samples.filter(run__label__in=base.values()))
    rows = samples.select_related("run", "prompt").order_by("repeat", "prompt__number", "run__number")
    for sample in each(rows):
        run, numbers, timing = sample.run, sample.numbers, sample.numbers.get("timing", {})
        spent = (numbers.get("prefill_ns"), numbers.get("decode_ns"), timing.get("queued_ns"))
        end_to_end = _end_to_end(sample.new_tokens, *spent)
        beside = alone.get((base[run.load], sample.prompt_id, sample.repeat), (0, 0))
        speed, reference = (sample.tokens_per_s, beside[0]) if run.load == ONE else (end_to_end, beside[1])
        cells = (
            run.label, sample.prompt.name, sample.prompt.category, sample.repeat, sample.attempt, sample.device,
            sample.new_tokens, sample.tokens_per_s, base[run.load], speed / reference if reference and speed else "",
            *(numbers.get(name, "") for name in NUMBERS), run.concurrency, run.rate, end_to_end,
            *(timing.get(name, "") for name in TIMES),
        )  # fmt: skip
        yield writer.writerow([safe(cell) for cell in cells])


def _speeds(samples: SampleQuerySet) -> dict[tuple[str, Any, int], tuple[float, float]]:
    """Tokens per second of each sample: of decoding, and of the whole request."""
    found = samples.values_list("run__label", "prompt_id", "repeat", "tokens_per_s", "new_tokens", *SPENT)
    return {(label, prompt, repeat): (speed, _end_to_end(*spent)) for label, prompt, repeat, speed, *spent in found}


def _end_to_end(tokens: int | None, *spent_ns: float | None) -> float:
    total = sum(ns or 0 for ns in spent_ns)
    return (tokens or 0) * 1e9 / total if total else 0.0


def safe(cell: Any) -> Any:
    """Keep text as text that a spreadsheet would run as a formula."""
    if (isinstance(cell, str) and cell.lstrip().startswith(("=", "+", "-", "@"))) or str(cell).startswith(("\t", "\r")):
        return f"'{cell}"
    return cell
