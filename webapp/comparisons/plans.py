"""Cost of a comparison, estimated before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Avg

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
    """Estimate seconds from speeds measured with this pair; a strategy without any counts as fast as the others."""
    labels = [choice.label for choice in spec.choices]
    measured = dict(
        Sample.objects.filter(run__comparison__pair=spec.recipe.pair, run__label__in=labels, tokens_per_s__gt=0)
        .values_list("run__label")
        .annotate(Avg("tokens_per_s"))
    )
    unmeasured = [label for label in labels if label not in measured]
    if not measured:
        return None, unmeasured
    usual = sum(measured.values()) / len(measured)
    tokens = spec.recipe.limit * spec.repeats * spec.recipe.sampling.max_new_tokens
    return sum(tokens / measured.get(label, usual) for label in labels), unmeasured
