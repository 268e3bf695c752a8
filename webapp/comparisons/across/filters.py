"""Filters of a team's runs: one description for page, API and CSV."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.db.models import F, Q
from django.http import QueryDict
from django_filters import fields
from django_filters import rest_framework as filters

from decoding.public import FORMER, STRATEGIES
from webapp.comparisons.across.columns import ORDERS, RANGED
from webapp.comparisons.models import Exactness, Run, RunQuerySet
from webapp.jobs.models import JobState

ORDERINGS = [sign + name for name in ORDERS for sign in ("", "-")]


class Number(filters.NumberFilter):
    field_class = forms.FloatField  # a finite number, as JSON needs it


class Count(filters.NumberFilter):
    field_class = forms.IntegerField


class _Strategy(fields.ChoiceField):
    def clean(self, value: Any) -> Any:
        return super().clean(FORMER[value][0] if value in FORMER else value)


class StrategyFilter(filters.ChoiceFilter):
    """Filter by strategy. The name that one had in an earlier version finds what has taken over."""

    field_class = _Strategy


class _Named(filters.FilterSet):
    """Has only the filters that are asked for: Django copies each, and there are dozens."""

    base_filters: dict[str, Any]

    def __init__(self, data: Any = None, *args: Any, **kwargs: Any) -> None:
        self.base_filters = {name: each for name, each in self.base_filters.items() if name in (data or ())}
        super().__init__(data, *args, **kwargs)

    q = filters.CharFilter(method="searched", max_length=100, label="in the names of run and comparison")
    comparison = filters.UUIDFilter(field_name="comparison_id")
    pair = filters.UUIDFilter(field_name="comparison__pair_id")
    dataset = filters.UUIDFilter(field_name="comparison__dataset_id")
    strategy = StrategyFilter(choices=[(slug, spec.title) for slug, spec in STRATEGIES.items()])
    device = filters.CharFilter(field_name="figures__conditions__device", max_length=400)
    conditions = filters.UUIDFilter(field_name="figures__conditions_id")
    state = filters.ChoiceFilter(field_name="comparison__job__state", choices=JobState.choices)
    noisy = filters.BooleanFilter(method="is_noisy")
    exactness = filters.ChoiceFilter(field_name="figures__exactness", choices=Exactness.choices)
    since = filters.DateFilter(field_name="created", lookup_expr="date__gte")
    until = filters.DateFilter(field_name="created", lookup_expr="date__lte")

    def searched(self, rows: RunQuerySet, name: str, text: str) -> RunQuerySet:
        return rows.filter(Q(label__icontains=text) | Q(comparison__name__icontains=text))

    def is_noisy(self, rows: RunQuerySet, name: str, wanted: bool) -> RunQuerySet:
        return rows.filter(figures__noisy_count__gt=0) if wanted else rows.filter(figures__noisy_count=0)


RANGES = {
    f"{column.name}_{end}": (Count if column.kind == "count" else Number)(
        field_name=column.source, lookup_expr=lookup, label=word
    )
    for column in RANGED
    for end, lookup, word in (("from", "gte", "at least"), ("to", "lte", "at most"))
}
RunFilter: Any = type("RunFilter", (_Named,), RANGES)


def runs(actor: Any) -> RunQuerySet:
    """Return all runs that the actor may see."""
    found: RunQuerySet = Run.objects.visible_to(actor).kept()
    return found


def sound(asked: QueryDict) -> dict[str, Any]:
    """Return the valid filters of an address; nonsense in it is ignored."""
    if not asked:
        return {}
    given = {name: asked.get(name, "").replace("\0", "") for name in RunFilter.base_filters if asked.get(name)}
    errors = RunFilter(given, Run.objects.none()).form.errors
    return {name: value for name, value in given.items() if name not in errors}


def filtered(rows: RunQuerySet, asked: Mapping[str, Any]) -> RunQuerySet:
    found: RunQuerySet = RunFilter(asked, rows).qs if asked else rows
    return found


def ordered(rows: RunQuerySet, asked: str) -> RunQuerySet:
    """Order runs; those without a value come last in both directions."""
    name = asked.removeprefix("-")
    if name not in ORDERS or asked.startswith("--"):
        return rows.order_by("-created", "number", "pk")
    by = F(ORDERS[name])
    return rows.order_by(by.desc(nulls_last=True) if asked.startswith("-") else by.asc(nulls_last=True), "pk")
