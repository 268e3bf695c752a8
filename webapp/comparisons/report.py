"""The result of a comparison so far: verdict and rows, computed by `decoding.measure` alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from decoding.public import (
    DEFINITIONS_VERSION,
    ENDED,
    JUDGE,
    STRATEGIES,
    Choice,
    Objective,
    Sampling,
    Stage,
    about_gguf_speed,
    across_loads,
    device_counts,
    overloaded,
    relabelled,
    sample_from_dict,
    summary,
    usual_baseline,
)
from webapp.comparisons.misfits import misfits
from webapp.comparisons.models import Comparison, Run, Sample
from webapp.core.caching import cached
from webapp.core.problems import Invalid
from webapp.jobs.models import JobState

KEPT_SECONDS = 3600
PROMPTS_REPORTED_SINGLY = 32  # up to twice as many prompts, each finished one makes another report
_CLASSIFIER = re.compile(r",classifier=[^, ]+")

Rows = list[dict[str, Any]]


def report(comparison: Comparison, baseline: str = "") -> dict[str, Any]:
    """Make the report from the finished samples, each time anew, so that it is never out of date. Everything is
    relative to the strategy `baseline`, or to the usual one, at the same load, except `why`, which is relative to
    decoding without speculation."""
    runs = list(comparison.runs.all())
    choices = [run.choice for run in runs]
    baseline = baseline or usual_baseline(choices)
    finished = Sample.objects.filter(run__in=runs).finished().order_by("run__number", "prompt__number", "repeat")
    # Read once: while the comparison runs, a sample may finish before a second reading.
    found = list(finished.values_list("numbers", "device", "noise", "run__label"))
    samples = [sample_from_dict(numbers) for numbers, _, _, _ in found]
    devices = sorted({device for _, device, _, _ in found})
    objective = Objective(**comparison.slo)
    ran_on = {run.label: ", ".join(devices) for run in runs}
    hardware = comparison.hardware.get("by_strategy", {})
    judged = summary.judge(
        choices, samples, baseline, stage=_stage(comparison), noises=[noise for _, _, noise, _ in found]
    )
    rows = summary.report(
        choices, ran_on, samples, baseline, objective, prices=comparison.prices, hardware=hardware, judged=judged
    )
    base = judged.base
    _add_names(rows, choices)
    for load, label in base.items():
        own = [row for row, choice in zip(rows, choices, strict=True) if choice.load == load]
        _pin(own, label)
        _state_hardware(own, label, hardware, device_counts(choices, hardware))
    noisy = Counter(label for _, _, noise, label in found if noise)
    for row in rows:
        row["sample_count"] = len(row.pop("samples"))
        row["noisy_count"] = noisy[row["label"]]
    names = {row["label"]: row["name"] for row in rows}
    machines = list(filter(None, [str(comparison.hardware.get("device_name", ""))]))
    used = {names[choice.label]: choice for choice in choices}
    warnings = misfits(used, Sampling.from_dict(comparison.sampling), machines)
    return {
        **across_loads(rows, judged),
        "objective": objective.to_dict(),
        "warnings": [*_dequantised(comparison), *warnings, *overloaded(rows)],
        "is_noisy": judged.is_noisy,
        "baseline": baseline,
        "samples": len(samples),
        "definitions_version": DEFINITIONS_VERSION,
        "noisy_count": noisy.total(),
        "is_mixed": len(devices) > 1,  # samples from several devices are not one fair run
        "strategies": rows,
    }


def _dequantised(comparison: Comparison) -> list[str]:
    """Say of models that were GGUF files whose speed is measured."""
    models = comparison.pair.by_role if comparison.pair else {}
    return [about_gguf_speed(role, file) for role, model in models.items() if (file := model.fact("gguf"))]


def _stage(comparison: Comparison) -> Stage:
    """How far it has come. A job that ended as planned has no sample without an end."""
    if comparison.job.state == JobState.SUCCEEDED:
        return ENDED
    conversations = sum(prompt.turn == 1 for prompt in comparison.prompts)
    return Stage(conversations, is_over=comparison.job.is_final, repeats=comparison.repeats)


def _add_names(rows: Rows, choices: Sequence[Choice]) -> None:
    """Add each row's name for people, with and without its load."""
    names = names_of(choice.label for choice in choices)
    for row, choice in zip(rows, choices, strict=True):
        row["name"] = names[choice.label]
        row["settings"] = row["name"].removesuffix(choice.load.suffix)


def names_of(labels: Iterable[str]) -> dict[str, str]:
    """Return labels for people: without a classifier's id, unless that makes two alike."""
    short = {label: _CLASSIFIER.sub(",classifier" if _needs_none(label) else "", label) for label in labels}
    shared = Counter(short.values())
    return {label: name if shared[name] == 1 else label for label, name in short.items()}


def _needs_none(label: str) -> bool:
    """Whether the strategy runs without a classifier too, so that its name must tell."""
    spec = STRATEGIES.get(label.partition(":")[0])
    return spec is not None and JUDGE in spec.params


def pinned(comparison: Comparison, asked: str) -> str:
    """Return the baseline that an address names, without its load; the usual one if it names none."""
    if asked:
        return run_called(comparison, asked, field="baseline").choice.settings
    return usual_baseline(run.choice for run in comparison.runs.all())


def run_called(comparison: Comparison, label: str, *, field: str = "strategy") -> Run:
    """Find a run by its label, or by that without its load: then it is the one at the lightest."""
    runs, asked = list(comparison.runs.all()), relabelled(label)
    found = next((run for run in runs if asked in (run.label, run.choice.settings)), None)
    if found is None:
        hint = f"It can be {', '.join(run.label for run in runs)}."
        raise Invalid(f"No strategy of this comparison is called {label[:80]!r}.", field=field, hint=hint)
    return found


def _pin(strategies: Rows, baseline: str) -> None:
    """Mark the baseline of a load, and add the difference to it; the speed-up is the ratio to it."""
    alone = next(row["tokens_per_s"] for row in strategies if row["label"] == baseline)
    for row in strategies:
        both = alone and row["tokens_per_s"]
        row["is_baseline"] = row["label"] == baseline
        row["gained_tokens_per_s"] = row["tokens_per_s"] - alone if both else None


def _state_hardware(strategies: Rows, baseline: str, stated: Mapping[str, str], counts: Mapping[str, int]) -> None:
    """Add the hardware of each strategy, and the speed-up per device if strategies had unlike numbers of devices."""
    alone = counts.get(baseline)
    for row in strategies:
        row["hardware"] = stated.get(row["label"], "")
        own = counts.get(row["label"])
        row["per_device"] = row["speedup"]["ratio"] * alone / own if alone and own and row["speedup"] else None


def so_far(comparison: Comparison, baseline: str = "") -> dict[str, Any]:
    """Return a report for watchers, made once for all of them when every strategy has finished one more prompt. A
    report reads every sample, so a long comparison makes one only when 2 or 3 % more are finished: otherwise, after
    thousands of samples, nothing but reports would be made."""
    count = Sample.objects.filter(run__comparison=comparison).finished().count()
    if not comparison.job.is_final:
        count -= count % samples_a_report(count, comparison.runs.count())
    job = comparison.job
    key = f"verdict-2:{DEFINITIONS_VERSION}:{comparison.pk}:{job.attempt}:{job.state}:{count}:{baseline}"
    return cached(key, lambda: report(comparison, baseline), KEPT_SECONDS)


def samples_a_report(samples: int, runs: int) -> int:
    """Number of further samples that make another report: whole prompts, and more of them the longer it has run."""
    prompts = samples // runs
    return runs * 2 ** max(0, prompts.bit_length() - PROMPTS_REPORTED_SINGLY.bit_length())
