"""The form that asks for a comparison. Its body is nested, so it is read here and then validated as the API does."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from decoding.public import CLASSIFIER, STRATEGIES, Param, Strategy, without_draft
from webapp.accounts.asked import ActorRequest
from webapp.comparisons import plans, serving
from webapp.comparisons.plans import ComparisonPlan
from webapp.comparisons.serializers import NewComparison, SamplingInput
from webapp.comparisons.specs import MOST_LOADS
from webapp.core.forms import DESCRIBE, Form, FormField, listed, typed
from webapp.core.problems import Problem
from webapp.registry.models import Endpoint, Pair
from webapp.registry.recipe_fields import SamplingFields, ids
from webapp.studies.classifiers import services as classifying
from webapp.studies.reading import box_of

USUAL = [{"strategy": each.slug, "params": params} for each in STRATEGIES.values() for params in each.usual]
NEEDS = {
    "draft": "needs a draft model, and this pair has none",
    "scores": "needs the draft's scores of the target's tokens, and this pair matches text (SLEM) and has none",
}
USUAL_WITHOUT_DRAFT = [{"strategy": choice.strategy, "params": dict(choice.params)} for choice in without_draft.usual()]
ANOTHER = "another "  # before the strategy that a button asks a further box for
BASICS = ("pair", "dataset", "split", "limit")
LOAD = ("concurrency", "rate", "recorded", "slo")
RUNNING = ("name", "repeats", "queue", "priority")
PLAIN = (*BASICS, *RUNNING)
MOST_CLASSIFIERS = 200  # offered for one pair
MOST_SERVERS = 200
TRAINED_WITH = {*SamplingFields().fields}


@dataclass(frozen=True, slots=True)
class ParamBox:
    name: str
    param: Param
    value: str
    choices: list[tuple[str, str]]  # empty: it is typed, or a check box

    @property
    def is_usual(self) -> bool:
        return self.value == str(self.param.default)


@dataclass(frozen=True, slots=True)
class StrategyBox:
    key: str  # its fields begin with it: a strategy may have several boxes
    spec: Strategy
    is_chosen: bool
    lacks: str  # what the strategy needs and the chosen pair lacks: a draft, or its scores; empty: nothing
    first: ParamBox | None  # the one that may hold several values
    rest: list[ParamBox]
    is_unfolded: bool

    @property
    def is_aside(self) -> bool:
        """Whether a first comparison does without it: a bound, or another engine."""
        return self.spec.role in ("bound", "peer")

    @property
    def needs(self) -> dict[str, str]:
        """Parts that it needs of a pair that some pairs lack, and why it cannot run with these."""
        return needs_of(self.spec)


def _takes_several(param: Param) -> bool:
    """Whether its field may hold several values, if it comes first."""
    return param.kind in ("int", "float") or (param.kind == "text" and param.name != CLASSIFIER.name)


def needs_of(spec: Strategy) -> dict[str, str]:
    return {need: why for need, why in NEEDS.items() if getattr(spec, f"needs_{need}")}


@dataclass(frozen=True, slots=True)
class ServerBox:
    endpoint: Endpoint
    is_chosen: bool


class ComparisonForm:
    def __init__(self, request: ActorRequest, initial: Mapping[str, Any]) -> None:
        self.actor = request.actor
        self.posted = request.POST if request.method == "POST" else None
        pairs = Pair.objects.visible_to(request.actor).kept().only("draft", "findings", "other_tokenizer")
        self.lacking = {str(pair.pk): lacks for pair in pairs if (lacks := pair.lacks)}  # for the script too
        self.body = _body(self.posted) if self.posted is not None else dict(initial)
        self._leave_to_servers()
        data = self.body if self.posted is not None else None
        initial = self._with_the_only_pair(initial)
        self.main = Form(NewComparison, request, data=data, initial=initial, actor=request.actor)
        self.sampling = Form(SamplingInput, initial=self.body.get("sampling") or {})
        if self.posted is None:
            chosen = {name: self.main[name].value for name in ("pair", "dataset")}
            self.body |= {name: value for name, value in chosen.items() if value}
            self._leave_to_servers()
        self.training = ""  # address of the form that trains what the plan lacks
        self.lacks = self.lacking.get(str(self.body.get("pair")), "")
        self.body.setdefault("strategies", USUAL_WITHOUT_DRAFT if self.lacks == "draft" else USUAL)

    def _leave_to_servers(self) -> None:
        """Leave the baseline out, which the page ticks itself, if no pair is chosen and nothing else but servers."""
        asked = self.body.get("strategies") or []
        others = [entry for entry in asked if STRATEGIES[entry["strategy"]].role != "baseline"]
        if others and not self.body.get("pair") and all(serving.is_server(entry["strategy"]) for entry in others):
            self.body["strategies"] = others

    def submit(self, act: Any) -> Any:
        return self.main.submit(act)

    def _with_the_only_pair(self, initial: Mapping[str, Any]) -> Mapping[str, Any]:
        """Choose the pair if there is only one, unless servers alone are named."""
        named = initial.get("strategies", [])
        if "pair" in initial or (named and all(serving.is_server(one["strategy"]) for one in named)):
            return initial
        pairs = Pair.objects.visible_to(self.actor).kept().values_list("pk", flat=True)[:2]
        return {**initial, "pair": pairs[0]} if len(pairs) == 1 else initial

    def take_sampling(self) -> None:
        """Take the sampling of the classifier that decides, if a button asks for it, or nothing was chosen yet."""
        if self.main.takes_sampling or (self.posted is None and "sampling" not in self.body):
            plan, _ = self.plan()
            if plan and plan.fitting:
                self.body["sampling"] = {**self.body.get("sampling", {}), **plan.fitting}
                self.sampling = Form(SamplingInput, initial=self.body["sampling"])
                self.main.unfolded.add("sampling")

    def plan(self) -> tuple[ComparisonPlan | None, str]:
        """Return the plan of what the form holds, or a sentence that says why there is none."""
        if not (self.body.get("dataset") and (self.body.get("pair") or self.is_of_servers)):
            return None, "Choose a pair and prompts to see the plan, or prompts and servers alone."
        trial = Form(NewComparison, data=self.body, actor=self.actor)
        plan = trial.submit(plans.plan)
        self.training = self._training(trial.problem) if trial.problem else ""
        return plan, trial.refusal

    def _training(self, problem: Problem) -> str:
        """Return the address of the form that trains the classifier that a strategy lacks, filled in; empty if it lacks
        none."""
        if problem.code != "no-classifier":
            return ""
        known = {name: value for name, value in (self.body.get("sampling") or {}).items() if name in TRAINED_WITH}
        query = {name: self.body[name] for name in ("pair", "dataset")} | known | problem.more
        return f"{reverse('train-classifier')}?{urlencode(query)}"

    @property
    def is_of_servers(self) -> bool:
        """Whether no strategy of ours is chosen."""
        asked = self.body.get("strategies") or []
        return bool(asked) and all(serving.is_server(entry["strategy"]) for entry in asked)

    @property
    def basics(self) -> Iterator[FormField]:
        return self.main.only(*BASICS)

    @property
    def load(self) -> Iterator[FormField]:
        return self.main.only(*LOAD)

    @property
    def running(self) -> Iterator[FormField]:
        return self.main.only(*RUNNING)

    @property
    def is_loaded(self) -> bool:
        """Whether the fields of the load hold anything."""
        return any(self.body.get(name) for name in LOAD)

    @property
    def errors(self) -> dict[str, list[str]]:
        return self.main.errors

    @property
    def is_aside_chosen(self) -> bool:
        return any(box.is_chosen and box.is_aside for box in self.strategies)

    @functools.cached_property
    def strategies(self) -> list[StrategyBox]:
        """Return a box for each strategy of the engine, and for each further setting of it that differs in more than
        its first parameter. Several values of that make several runs."""
        return [
            self._box(spec, box_of(spec.slug, number), asked)
            for spec in STRATEGIES.values()
            if spec.role != "server"  # `servers` has a box for each endpoint
            for number, asked in enumerate(self._alike(spec))
        ]

    def _alike(self, spec: Strategy) -> list[list[dict[str, Any]]]:
        """Return the entries that ask for a strategy, by what a box holds; an empty list for a box that is not used."""
        found: dict[str, list[dict[str, Any]]] = {}
        for entry in self.body.get("strategies") or []:
            if entry["strategy"] == spec.slug:
                given = entry.get("params", {})
                rest = spec.params[1:] if spec.params and _takes_several(spec.params[0]) else spec.params
                held = [str(given.get(param.name, param.default)).lower() for param in rest]
                found.setdefault(str(held), []).append(entry)
        is_asked_for = self.posted is not None and self.posted.get(DESCRIBE) == f"{ANOTHER}{spec.slug}"
        return [*found.values()] + [[]] * (is_asked_for or not found)

    @property
    def is_server_chosen(self) -> bool:
        return any(box.is_chosen for box in self.servers)

    @functools.cached_property
    def servers(self) -> list[ServerBox]:
        """Return a box for each endpoint of the team."""
        asked = {
            entry.get("params", {}).get("name")
            for entry in self.body.get("strategies") or []
            if serving.is_server(entry["strategy"])
        }
        rows = Endpoint.objects.visible_to(self.actor).kept().order_by("name")[:MOST_SERVERS]
        return [ServerBox(row, row.name in asked) for row in rows]

    def _box(self, spec: Strategy, key: str, asked: list[dict[str, Any]]) -> StrategyBox:
        boxes = [self._param(spec, key, index, asked) for index in range(len(spec.params))]
        first = boxes[0] if boxes and _takes_several(boxes[0].param) else None
        rest = boxes[1:] if first else boxes
        is_unfolded = key in self.main.unfolded or not all(box.is_usual for box in rest)
        lacks = self.lacks if self.lacks in needs_of(spec) else ""
        return StrategyBox(key, spec, bool(asked), lacks, first, rest, is_unfolded)

    def _param(self, spec: Strategy, key: str, index: int, asked: list[dict[str, Any]]) -> ParamBox:
        param = spec.params[index]
        values = [str(entry.get("params", {}).get(param.name, param.default)) for entry in asked]
        shown = dict.fromkeys(values if index == 0 else values[:1])
        value = ", ".join(shown) if shown else str(param.default)
        if param.kind == "bool":
            value = value.capitalize()
        choices = self._choices(param)
        value = next((one for one, _ in choices if value and one.startswith(value)), value)  # a label shortens an id
        return ParamBox(f"{key}.{param.name}", param, value, choices)

    def _choices(self, param: Param) -> list[tuple[str, str]]:
        if param.name == CLASSIFIER.name:
            none = [("", "none")] if param.word else []
            return [*none, (param.word, "the pair's newest"), *self._classifiers]
        return [(choice, choice) for choice in param.choices]

    @functools.cached_property
    def _classifiers(self) -> list[tuple[str, str]]:
        pair = Pair.objects.visible_to(self.actor).filter(pk__in=ids(str(self.body.get("pair", "")))).first()
        rows = classifying.usable_on(pair).values_list("pk", "name")[:MOST_CLASSIFIERS] if pair else ()
        return [(str(pk), name) for pk, name in rows]


def _body(posted: QueryDict) -> dict[str, Any]:
    """Build the body that a script would send."""
    known: Any = NewComparison().fields
    body = {name: typed(known[name], text) for name in (*PLAIN, "slo") if (text := posted.get(name, ""))}
    for name in ("concurrency", "rate", "recorded"):
        if values := typed(known[name], posted.get(name, "")):
            body[name] = values[: MOST_LOADS + 1]
    body["strategies"] = [
        entry
        for box in posted.getlist("use")
        if (slug := box.partition("~")[0]) in STRATEGIES
        for entry in _entries(slug, box, posted)
    ]
    body["strategies"] += [
        {"strategy": slug, "params": {"name": name}}
        for slug in STRATEGIES
        if serving.is_server(slug)
        for name in posted.getlist("server")[: MOST_SERVERS + 1]
    ]
    fields = {name: field for name, field in SamplingInput().fields.items() if name != "stop"}
    body["sampling"] = {name: typed(field, text) for name, field in fields.items() if (text := posted.get(name, ""))}
    body["sampling"]["ignore_eos"] = "ignore_eos" in posted
    return body


def _entries(slug: str, box: str, posted: QueryDict) -> list[dict[str, Any]]:
    names = [param.name for param in STRATEGIES[slug].params]
    params = {name: text.strip() for name in names if (text := posted.get(f"{box}.{name}", ""))}
    if not names or names[0] not in params:
        return [{"strategy": slug, "params": params}]
    return [{"strategy": slug, "params": {**params, names[0]: value}} for value in listed(params[names[0]])[:33]]
