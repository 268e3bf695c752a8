"""Fields of a recipe in bodies: pair, prompts and sampling, the same wherever texts are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from rest_framework import serializers

from webapp.core.api import Input, Visible
from webapp.registry.models import Dataset, Pair

LACKS = {"": "", "draft": " (no draft)", "scores": " (matches text)"}


class PairField(Visible):
    def __init__(self, **options: Any) -> None:
        super().__init__(queryset=Pair.objects.select_related("target", "draft"), **options)

    def display_value(self, instance: Pair) -> str:
        return f"{instance}: {instance.models}{LACKS[instance.lacks]}"


class RecordedPairField(PairField):
    """A pair for work that records what its draft says of the target's tokens: forms offer no other, and services
    refuse the others in a sentence."""

    def blocked(self, now: Callable[[str], str]) -> set[str]:
        """Ids of the choices that a form shows but does not offer, by what it holds in other fields."""
        pairs = self.get_queryset().select_related(None).only("draft", "findings", "other_tokenizer")
        return {str(pair.pk) for pair in pairs if pair.lacks}


class PromptsField(Visible):
    def __init__(self, **options: Any) -> None:
        super().__init__(queryset=Dataset.objects.all(), label="Prompts", **options)


class SplitField(serializers.CharField):
    """A split by its name. A form offers the splits of the prompt set that it holds."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=20, required=False, default="", allow_blank=True, **options)

    def offered(self, now: Callable[[str], str]) -> list[tuple[str, str]]:
        sets = Dataset.objects.visible_to(self.context["actor"]).filter(pk__in=ids(now("dataset")))
        splits = sets.values_list("splits", flat=True).first() or {}
        return [("", "all prompts"), *((name, f"{name} ({count:,})") for name, count in splits.items() if name)]


def ids(text: str) -> list[UUID]:
    """Return the id that a form holds; none if it is not one."""
    try:
        return [UUID(text)]
    except ValueError:
        return []


class LimitField(serializers.IntegerField):
    def __init__(self, *, help_text: str = "empty: all") -> None:
        super().__init__(
            min_value=1, max_value=100_000, required=False, allow_null=True, default=None, help_text=help_text,
            label="Number of prompts",
        )  # fmt: skip


class SamplingFields(Input):
    """Sampling as a body states it. The bounds are those of decoding.choice.Sampling."""

    temperature = serializers.FloatField(
        min_value=0.0, max_value=10.0, required=False, default=0.0,
        help_text="0: greedy",
    )  # fmt: skip
    top_k = serializers.IntegerField(min_value=0, max_value=1_000_000, required=False, default=0, help_text="0: all")
    top_p = serializers.FloatField(min_value=1e-6, max_value=1.0, required=False, default=1.0)
    repetition_penalty = serializers.FloatField(min_value=0.1, max_value=10.0, required=False, default=1.0)
    dice = serializers.ChoiceField(
        choices=["shared", "ratio"], required=False, default="shared",
        help_text="shared: every strategy gives the very same text; ratio: the same distribution",
    )  # fmt: skip
    seed = serializers.IntegerField(min_value=0, max_value=2**63 - 1, required=False, default=0)
    max_new_tokens = serializers.IntegerField(min_value=1, max_value=1_000_000, required=False, default=128)
