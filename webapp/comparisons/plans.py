"""Cost of a comparison, estimated before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Avg

from decoding.public import Choice
from webapp.comparisons.misfits import misfits
from webapp.comparisons.models import Sample
from webapp.comparisons.services import Spec
from webapp.registry.models import Readiness

TRACE_BYTES_PER_TOKEN = 40  # 32 were measured, packed, with rounds of 1 to 2 tokens (docs/log/2026-11.md)


@dataclass(frozen=True, slots=True)
class Plan:
    run_count: int
    prompt_count: int
    sample_count: int
    most_tokens: int
    minutes: float | None  # None if nothing was ever measured with this pair
    disk_bytes: int
    labels: list[str]
    notes: list[str]


def plan(*, spec: Spec) -> Plan:
    most_tokens = spec.sample_count * spec.recipe.sampling.max_new_tokens
    seconds, unmeasured = _seconds(spec)
    models = spec.recipe.pair.by_role.values()
    notes = [f"{model.name} is still being checked." for model in models if model.state == Readiness.CHECKING]
    notes += [finding["sentence"] for finding in spec.recipe.pair.findings if finding["level"] == "remark"]
    notes += misfits({choice.label: choice for choice in spec.choices}, spec.recipe.sampling)
    if unmeasured:
        notes.append(f"Nothing was measured yet for {', '.join(unmeasured)} with this pair, so the time is a guess.")
    return Plan(
        run_count=len(spec.choices),
        prompt_count=spec.recipe.limit,
        sample_count=spec.sample_count,
        most_tokens=most_tokens,
        minutes=round(seconds / 60, 1) if seconds is not None else None,
        disk_bytes=most_tokens * TRACE_BYTES_PER_TOKEN,
        labels=[choice.label for choice in spec.choices],
        notes=notes,
    )


def _seconds(spec: Spec) -> tuple[float | None, list[str]]:
    """Estimate seconds from speeds measured with this pair; a strategy without any counts as fast as the others. Users
    at once divide the time by their number. Requests that arrive at a rate take at least until the last arrives."""
    labels = [choice.label for choice in spec.choices]
    known = Sample.objects.filter(run__comparison__pair=spec.recipe.pair, tokens_per_s__gt=0)
    known = known.filter(run__label__in={*labels, *(choice.settings for choice in spec.choices)})
    measured = dict(known.values_list("run__label").annotate(Avg("tokens_per_s")))
    unmeasured = [label for label in labels if label not in measured]
    if not measured:
        return None, unmeasured
    usual = sum(measured.values()) / len(measured)
    requests = spec.recipe.limit * spec.repeats
    tokens = requests * spec.recipe.sampling.max_new_tokens

    def seconds(choice: Choice) -> float:
        least = requests / choice.load.rate if choice.load.is_open else 0.0
        alone = measured.get(choice.settings, usual)
        speed = measured[choice.label] * choice.load.concurrency if choice.label in measured else alone
        return max(least, tokens / speed)

    return sum(map(seconds, spec.choices)), unmeasured
