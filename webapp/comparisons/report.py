"""The result of a comparison so far: verdict and rows, computed by `decoding.measure` alone."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from decoding.public import BASELINE, DEFINITIONS_VERSION, Sampling, fewest_rows, ranking, summary, verdict
from webapp.comparisons.losses import losses
from webapp.comparisons.misfits import misfits
from webapp.comparisons.models import Comparison, Sample
from webapp.core.kept import kept
from webapp.core.problems import Invalid

KEPT_SECONDS = 3600
NOISY_SHARE = 0.2  # of the samples that a verdict compares; above it the verdict doubts itself
PROMPTS_TOLD_SINGLY = 32  # up to twice as many prompts, each finished one makes another report
_CLASSIFIER = re.compile(r",classifier=[^,]+")


def report(comparison: Comparison, baseline: str = BASELINE) -> dict[str, Any]:
    """Make the report from the finished samples, each time anew, so that it is never out of date. Everything is
    relative to the strategy labelled `baseline`, except losses, which are relative to decoding without speculation."""
    runs = list(comparison.runs.all())
    finished = Sample.objects.filter(run__in=runs).finished().order_by("run__number", "prompt__number", "repeat")
    # Read once: while the comparison runs, a sample may finish before a second reading.
    rows = list(finished.values_list("numbers", "device", "noise", "run__label"))
    samples = [sample_of(numbers) for numbers, _, _, _ in rows]
    devices = sorted({device for _, device, _, _ in rows})
    runner = ", ".join(devices)
    strategies = summary.report([run.choice for run in runs], {run.label: runner for run in runs}, samples, baseline)
    for strategy in strategies:
        strategy["losses"] = losses(strategy, strategies)
    _pin(strategies, baseline)
    _state_hardware(strategies, baseline, comparison.hardware.get("by_strategy", {}))
    noisy = Counter(label for _, _, noise, label in rows if noise)
    names = names_of(run.label for run in runs)
    for strategy in strategies:
        strategy["name"] = names[strategy["label"]]
        strategy["sample_count"] = len(strategy.pop("samples"))
        strategy["noisy_count"] = noisy[strategy["label"]]
    standing = ranking(strategies, samples, baseline)
    sampling = Sampling.from_dict(comparison.sampling)
    is_noisy = _is_noisy(strategies, standing.leader, baseline)
    is_over = comparison.job.is_final or comparison.limit < fewest_rows(len(runs) - 1)
    return {
        "verdict": verdict(
            [{**row, "label": row["name"]} for row in strategies],
            names[baseline],
            is_noisy=is_noisy,
            is_over=is_over,
        ),
        # While it runs, do not ask for more prompts: some are on their way.
        "ranking": dataclasses.asdict(standing if is_over else dataclasses.replace(standing, sentence="")),
        "warnings": misfits({names[run.label]: run.choice for run in runs}, sampling),
        "is_noisy": is_noisy,
        "baseline": baseline,
        "samples": len(samples),
        "definitions_version": DEFINITIONS_VERSION,
        "noisy_count": noisy.total(),
        "is_mixed": len(devices) > 1,  # samples from several devices are not one fair run
        "strategies": strategies,
    }


def _is_noisy(strategies: list[dict[str, Any]], leader: str | None, baseline: str) -> bool:
    """Whether too many of the samples that the verdict compares were decoded while other programs used the machine."""
    compared = [row for row in strategies if leader and row["label"] in (leader, baseline)]
    return sum(row["noisy_count"] for row in compared) > NOISY_SHARE * sum(row["sample_count"] for row in compared)


def names_of(labels: Iterable[str]) -> dict[str, str]:
    """Return labels for people: without a classifier's id, unless that makes two alike."""
    short = {label: _CLASSIFIER.sub("", label) for label in labels}
    shared = Counter(short.values())
    return {label: name if shared[name] == 1 else label for label, name in short.items()}


def pinned(comparison: Comparison, asked: str) -> str:
    """Return the label of the baseline that an address names; autoregressive if it names none."""
    labels = [run.label for run in comparison.runs.all()]
    if asked and asked not in labels:
        raise Invalid(
            f"No strategy of this comparison is called {asked[:80]!r}, so nothing can be relative to it.",
            field="baseline", hint=f"It can be {', '.join(labels)}.",
        )  # fmt: skip
    return asked or BASELINE


def _pin(strategies: list[dict[str, Any]], baseline: str) -> None:
    """Add the difference to the baseline; the speed-up is the ratio to it."""
    alone = next(row["tokens_per_s"] for row in strategies if row["label"] == baseline)
    for row in strategies:
        both = alone and row["tokens_per_s"]
        row["gained_tokens_per_s"] = row["tokens_per_s"] - alone if both else None


def _state_hardware(strategies: list[dict[str, Any]], baseline: str, stated: Mapping[str, str]) -> None:
    """Add the hardware of each strategy, and the speed-up per device if strategies had unlike numbers of devices."""
    counts = {label: devices_in(words) for label, words in stated.items()}
    alone = counts.get(baseline)
    for row in strategies:
        row["hardware"] = stated.get(row["label"], "")
        own = counts.get(row["label"])
        row["per_device"] = row["speedup"]["median"] * alone / own if alone and own and row["speedup"] else None


def devices_in(words: str) -> int:
    """Count the devices in `1 core`, `2 cores: target on 0, draft on 1`, `cuda:0`, `cuda:0 for the target, core 1 for
    the draft`."""
    counted = re.match(r"(\d+) cores?\b", words)
    if counted:
        return int(counted[1])
    return 2 if "for the draft" in words else 1


def so_far(comparison: Comparison, baseline: str = BASELINE) -> dict[str, Any]:
    """Return a report for watchers, made once for all of them when every strategy has finished one more prompt. A
    report reads every sample, so a long comparison makes one only when 2 or 3 % more are finished: otherwise, after
    thousands of samples, nothing but reports would be made."""
    count = Sample.objects.filter(run__comparison=comparison).finished().count()
    if not comparison.job.is_final:
        count -= count % step(count, comparison.runs.count())
    key = f"verdict:{comparison.pk}:{comparison.job.attempt}:{comparison.job.state}:{count}:{baseline}"
    return kept(key, lambda: report(comparison, baseline), KEPT_SECONDS)


def step(samples: int, runs: int) -> int:
    """How many more samples make another report: whole prompts, and more of them the longer the comparison has run."""
    prompts = samples // runs
    return runs * 2 ** max(0, prompts.bit_length() - PROMPTS_TOLD_SINGLY.bit_length())


def sample_of(numbers: dict[str, Any]) -> summary.Sample:
    return summary.sample_from_dict(numbers)
