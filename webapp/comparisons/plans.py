"""Cost of a comparison, estimated before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Avg, StdDev

from decoding.public import Choice, are_too_few, memory, outlook
from webapp.comparisons.misfits import fitting, misfits
from webapp.comparisons.models import Sample
from webapp.comparisons.specs import Spec, specify
from webapp.jobs import line
from webapp.jobs.models import Worker
from webapp.registry.models import Pair, Readiness

UNAUDITED = "No pair is chosen, so no target audits what the servers answer."
TRACE_BYTES_PER_TOKEN = 40  # 32 were measured, packed, with rounds of 1 to 2 tokens (docs/log/2026-11.md)


@dataclass(frozen=True, slots=True)
class ComparisonPlan:
    run_count: int
    prompt_count: int
    sample_count: int
    most_tokens: int
    minutes: float | None  # None if nothing was ever measured with this pair
    minutes_low: float | None
    minutes_high: float | None
    memory_bytes: int | None  # of weights and branches; None while a model is being checked
    disk_bytes: int
    start: str  # when a worker begins it, as a sentence
    shows: str  # what so many prompts can show, as a sentence; empty if nothing is compared
    has_too_few_prompts: bool
    labels: list[str]
    notes: list[str]
    fitting: Mapping[str, Any]  # sampling settings that a classifier was trained with and this does not have


def plan(*, name: str = "", **asked: Any) -> ComparisonPlan:
    """Estimate what `services.launch` would queue."""
    spec = specify(**asked)
    most_tokens = spec.sample_count * spec.recipe.sampling.max_new_tokens
    seconds, unmeasured = _seconds(spec)
    least, middle, most = (round(each / 60, 1) for each in seconds) if seconds else (None, None, None)
    others = len({choice.settings for choice in spec.choices}) - 1
    notes = _of_pair(spec.recipe.pair) if spec.recipe.pair else [UNAUDITED]
    machines = Worker.objects.devices_of(spec.queue)
    by_label = {choice.label: choice for choice in spec.choices}
    notes += misfits(by_label, spec.recipe.sampling, machines)
    if not seconds:
        notes.append("Nothing was measured with this pair yet, so there is no estimate of the time.")
    elif unmeasured:
        told = f"Not measured with this pair yet: {', '.join(unmeasured)}"
        notes.append(f"{told}. The time assumes that they are as fast as the others.")
    return ComparisonPlan(
        run_count=len(spec.choices),
        prompt_count=spec.recipe.limit,
        sample_count=spec.sample_count,
        most_tokens=most_tokens,
        minutes=middle,
        minutes_low=least,
        minutes_high=most,
        memory_bytes=_memory(spec),
        disk_bytes=most_tokens * TRACE_BYTES_PER_TOKEN,
        start=line.outlook(spec.queue),
        shows=outlook(spec.recipe.limit, others) if others else "",
        has_too_few_prompts=are_too_few(spec.recipe.limit, others),
        labels=[choice.label for choice in spec.choices],
        notes=notes,
        fitting=fitting(by_label, spec.recipe.sampling),
    )


def _of_pair(pair: Pair) -> list[str]:
    """Remarks on the models."""
    checking = [model.name for model in pair.by_role.values() if model.state == Readiness.CHECKING]
    remarks = [finding["sentence"] for finding in pair.findings if finding["level"] == "remark"]
    return [*(f"{name} is still being checked." for name in checking), *remarks]


def _memory(spec: Spec) -> int | None:
    """Bytes for the weights and for the scores of branches. Caches come on top."""
    if spec.recipe.pair is None:
        return 0
    weights = spec.recipe.pair.weight_bytes
    if weights is None:
        return None
    return weights + max(memory.needed_by(choice, spec.recipe.pair.vocab_size) for choice in spec.choices)


@dataclass(frozen=True, slots=True)
class Speed:
    """Tokens per second: the mean of samples, and one standard deviation to either side."""

    low: float
    mean: float
    high: float


def _seconds(spec: Spec) -> tuple[tuple[float, float, float] | None, list[str]]:
    """Estimate least, middle and most seconds from speeds measured with this pair; a strategy without any counts as
    fast as the others, from the slowest to the fastest of them. Also list those strategies."""
    labels = [choice.label for choice in spec.choices]
    measured = _measured(spec, {*labels, *(choice.settings for choice in spec.choices)})
    unmeasured = [label for label in labels if label not in measured]
    if not measured:
        return None, unmeasured
    speeds = measured.values()
    usual = Speed(
        min(speed.low for speed in speeds),
        sum(speed.mean for speed in speeds) / len(speeds),
        max(speed.high for speed in speeds),
    )
    each = [_spent(spec, choice, measured, usual) for choice in spec.choices]
    least, middle, most = (sum(times) for times in zip(*each, strict=True))
    return (least, middle, most), unmeasured


def _measured(spec: Spec, labels: set[str]) -> dict[str, Speed]:
    own = {"run__comparison__team": spec.recipe.dataset.team_id, "run__comparison__pair": spec.recipe.pair}
    known = Sample.objects.filter(**own, tokens_per_s__gt=0, run__label__in=labels)
    rows = known.values_list("run__label").annotate(Avg("tokens_per_s"), StdDev("tokens_per_s"))
    return {label: Speed(max(mean - spread, mean / 2), mean, mean + spread) for label, mean, spread in rows}


def _spent(spec: Spec, choice: Choice, measured: dict[str, Speed], usual: Speed) -> tuple[float, float, float]:
    """Seconds for one run. Users at once divide the time by their number. Requests that arrive at a rate take at least
    until the last arrives."""
    requests = spec.recipe.limit * spec.repeats
    tokens = requests * spec.recipe.sampling.max_new_tokens
    arriving = requests / choice.load.rate if choice.load.is_open else 0.0
    at_once = choice.load.concurrency if choice.label in measured else 1
    speed = measured.get(choice.label) or measured.get(choice.settings, usual)
    least, middle, most = (max(arriving, tokens / (pace * at_once)) for pace in (speed.high, speed.mean, speed.low))
    return least, middle, most
