"""Samples as a table for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from webapp.comparisons.models import Comparison, Sample
from webapp.core.reading import each

COLUMNS = (
    "strategy", "prompt", "category", "repeat", "attempt", "device", "new_tokens", "tokens_per_s", "baseline",
    "speedup",
)  # fmt: skip
NUMBERS = (
    "prompt_tokens", "reason", "prefill_ns", "decode_ns", "draft_ns", "verify_ns", "num_target_passes",
    "num_draft_passes", "num_spec_steps", "num_draft_tokens", "num_accepted_draft_tokens",
)  # fmt: skip


class Echo:
    def write(self, line: str) -> str:
        return line


def as_csv(comparison: Comparison, baseline: str) -> Iterator[str]:
    """Stream one line for each finished sample."""
    writer = csv.writer(Echo())
    yield writer.writerow((*COLUMNS, *NUMBERS))
    samples = Sample.objects.filter(run__comparison=comparison).finished()
    alone = {
        (prompt, repeat): speed
        for prompt, repeat, speed in samples.filter(run__label=baseline).values_list(
            "prompt_id", "repeat", "tokens_per_s"
        )
    }
    rows = samples.select_related("run", "prompt").order_by("repeat", "prompt__number", "run__number")
    for sample in each(rows):
        beside = alone.get((sample.prompt_id, sample.repeat))
        speedup = sample.tokens_per_s / beside if beside and sample.tokens_per_s else ""
        cells = (
            sample.run.label, sample.prompt.name, sample.prompt.category, sample.repeat, sample.attempt,
            sample.device, sample.new_tokens, sample.tokens_per_s, baseline, speedup,
        )  # fmt: skip
        yield writer.writerow([safe(cell) for cell in (*cells, *(sample.numbers.get(name, "") for name in NUMBERS))])


def safe(cell: Any) -> Any:
    """Keep text as text that a spreadsheet would run as a formula."""
    if (isinstance(cell, str) and cell.lstrip().startswith(("=", "+", "-", "@"))) or str(cell).startswith(("\t", "\r")):
        return f"'{cell}"
    return cell
