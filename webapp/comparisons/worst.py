"""Prompts of a comparison on which a strategy gains least, as a prompt file."""

from __future__ import annotations

from collections.abc import Iterator

from decoding.public import BASELINE, SampleResult, sample_from_dict, summary, worst
from webapp.comparisons.models import Comparison, Run, Sample
from webapp.comparisons.report import run_called, so_far
from webapp.registry.prompt_sets import prompt_of


def as_lines(comparison: Comparison, strategy: str, baseline: str, limit: int) -> Iterator[str]:
    """Return the prompts, the worst first, each as a line of JSON. Without a strategy, take the one that the verdict
    names; at several loads, at the lightest."""
    runs = list(comparison.runs.all())
    label = _label(comparison, runs, strategy, baseline)
    base = summary.baselines([run.choice for run in runs], baseline)
    load = next(run.load for run in runs if run.label == label)
    own, beside = (_samples(comparison, name) for name in (label, base[load]))
    prompts = [prompt_of(row) for row in comparison.prompts]
    return worst.lines(worst.ranked_by_loss(own, beside)[:limit], prompts, beside)


def _label(comparison: Comparison, runs: list[Run], strategy: str, baseline: str) -> str:
    if strategy:
        return run_called(comparison, strategy).label
    leader = so_far(comparison, baseline)["loads"][0]["ranking"]["leader"]
    return leader or next((run.label for run in runs if run.strategy != BASELINE), runs[0].label)


def _samples(comparison: Comparison, label: str) -> list[SampleResult]:
    found = Sample.objects.filter(run__comparison=comparison, run__label=label).finished()
    return [sample_from_dict(numbers) for numbers in found.order_by("prompt__number").values_list("numbers", flat=True)]
