"""The form that asks for a comparison. Its body is nested, so it is read here and then validated as the API does."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from rest_framework import serializers

from decoding.public import STRATEGIES, Param, Strategy, alone
from webapp.accounts.asked import Asked
from webapp.comparisons.serializers import NewComparison, SamplingInput
from webapp.comparisons.services import MOST_LOADS
from webapp.core.forms import Form
from webapp.registry.models import Pair

USUAL = [{"strategy": each.slug, "params": params} for each in STRATEGIES.values() for params in each.usual]
USUAL_ALONE = [{"strategy": choice.strategy, "params": dict(choice.params)} for choice in alone.usual()]
PLAIN = ("name", "pair", "dataset", "split", "limit", "repeats", "queue", "priority")
LOAD = ("concurrency", "rate", "recorded", "slo")
NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?")


@dataclass(frozen=True, slots=True)
class ParamBox:
    name: str
    param: Param
    value: str


@dataclass(frozen=True, slots=True)
class StrategyBox:
    spec: Strategy
    is_chosen: bool
    is_blocked: bool  # the chosen pair lacks the draft that the strategy needs
    params: list[ParamBox]


class ComparisonForm:
    def __init__(self, request: Asked, initial: Mapping[str, Any]) -> None:
        self.posted = request.POST if request.method == "POST" else None
        pairs = Pair.objects.visible_to(request.actor).kept().filter(draft=None)
        self.alone = [str(pk) for pk in pairs.values_list("pk", flat=True)]  # pairs without a draft, for the script
        self.body = _body(self.posted) if self.posted is not None else dict(initial)
        self.is_alone = str(self.body.get("pair")) in self.alone
        self.body.setdefault("strategies", USUAL_ALONE if self.is_alone else USUAL)
        self.main = Form(
            NewComparison, data=self.body if self.posted is not None else None, initial=initial,
            actor=request.actor,
        )  # fmt: skip
        self.sampling = Form(SamplingInput, initial=self.body.get("sampling") or {})

    def submit(self, act: Any) -> Any:
        return self.main.submit(act)

    @property
    def plain(self) -> Any:
        return self.main.only(*PLAIN)

    @property
    def load(self) -> Any:
        return self.main.only(*LOAD)

    @property
    def is_loaded(self) -> bool:
        """Whether the fields of the load hold anything, or something is wrong with them."""
        return any(self.body.get(name) for name in LOAD) or any(name in self.errors for name in LOAD)

    @property
    def errors(self) -> dict[str, list[str]]:
        return self.main.errors

    @property
    def strategies(self) -> list[StrategyBox]:
        """Return a box for each strategy of the engine. Several values of its first parameter make several runs."""
        asked = self.body.get("strategies") or []
        return [
            _box(spec, [entry for entry in asked if entry["strategy"] == spec.slug], self.is_alone and spec.needs_draft)
            for spec in STRATEGIES.values()
        ]


def _box(spec: Strategy, asked: list[dict[str, Any]], is_blocked: bool) -> StrategyBox:
    boxes = []
    for index, param in enumerate(spec.params):
        given = [str(entry.get("params", {}).get(param.name, param.default)) for entry in asked]
        value = ", ".join(dict.fromkeys(given)) if index == 0 and given else given[0] if given else str(param.default)
        boxes.append(ParamBox(f"{spec.slug}.{param.name}", param, value.lower() if param.kind == "bool" else value))
    return StrategyBox(spec, bool(asked), is_blocked, boxes)


def _body(posted: QueryDict) -> dict[str, Any]:
    """Build the body that a script would send."""
    known: Any = NewComparison().fields
    body: dict[str, Any] = {
        name: _typed(known[name], text) for name in (*PLAIN, "slo") if (text := posted.get(name, ""))
    }
    for name in ("concurrency", "rate", "recorded"):
        if listed := _listed(posted.get(name, "")):
            body[name] = [_typed(known[name].child, text) for text in listed[: MOST_LOADS + 1]]
    body["strategies"] = [
        entry for slug in posted.getlist("use") if slug in STRATEGIES for entry in _entries(slug, posted)
    ]
    fields = {name: field for name, field in SamplingInput().fields.items() if name != "stop"}
    body["sampling"] = {name: _typed(field, text) for name, field in fields.items() if (text := posted.get(name, ""))}
    body["sampling"]["ignore_eos"] = "ignore_eos" in posted
    return body


def _typed(field: Any, text: str) -> Any:
    """Convert a number, as JSON must have it. Any other text stays as it is, and is refused if a number is due."""
    is_number = isinstance(field, (serializers.IntegerField, serializers.FloatField)) and NUMBER.fullmatch(text.strip())
    return json.loads(text) if is_number else text


def _entries(slug: str, posted: QueryDict) -> list[dict[str, Any]]:
    params = STRATEGIES[slug].params
    told = {param.name: posted.get(f"{slug}.{param.name}", "") for param in params}
    given = {name: text.strip() for name, text in told.items() if text}
    if not params or params[0].name not in given:
        return [{"strategy": slug, "params": given}]
    several = _listed(given[params[0].name])
    return [{"strategy": slug, "params": {**given, params[0].name: value}} for value in several[:33]]


def _listed(text: str) -> list[str]:
    return [value.strip() for value in text.split(",") if value.strip()]
