"""Plan of a study or a training, shown beside its form: what is known before a worker has seen the pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rest_framework.serializers import Serializer

from decoding.public import OURS, misfit, trained_otherwise
from webapp.accounts.actor import Actor
from webapp.core.forms import Form
from webapp.jobs import line
from webapp.jobs.kinds import Kind
from webapp.jobs.models import Queue
from webapp.registry.models import Dataset, Pair
from webapp.studies import services
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier


@dataclass(frozen=True, slots=True)
class Plan:
    prompt_count: int
    memory_bytes: int | None  # of the weights; None while a model is being checked
    start: str  # when a worker begins it, as a sentence
    notes: list[str]
    fitting: Mapping[str, Any] = field(default_factory=dict)  # as in the plan of a comparison


def shown(form: Form, kind: type[Serializer[Any]], plan: Callable[..., Plan], actor: Actor) -> dict[str, Any]:
    """Return the plan of what a form holds, or a sentence that says why there is none. The form takes the sampling of
    the classifier that decides if a button asks for it, or as long as nobody has filled it in."""
    if not (form.body.get("pair") and form.body.get("dataset")):
        return {"why_not": "Choose a pair and prompts to see the plan."}
    found = _planned(form, kind, plan, actor)
    fitting = found["plan"].fitting if found["plan"] else {}
    if fitting and (form.takes_sampling or form.data is None):
        form.fill("sampling", fitting)
        return _planned(form, kind, plan, actor)
    return found


def _planned(form: Form, kind: type[Serializer[Any]], plan: Callable[..., Plan], actor: Actor) -> dict[str, Any]:
    trial = Form(kind, data={"name": "plan", **form.body}, actor=actor)
    return {"plan": trial.submit(plan), "why_not": trial.refusal}


def of_study(
    *, kind: Kind, pair: Pair, dataset: Dataset, queue: Queue = Queue.CPU, split: str = "", limit: int | None = None,
    sampling: Any = None, classifier: Classifier | None = None, also: Dataset | None = None, loads: Sequence[int] = (),
    card: str = "", own_card: str = "", **_: Any,
) -> Plan:  # fmt: skip
    recipe = services.recipe_of(kind, pair, dataset, split, limit, sampling)
    services.arguments_of(
        kind, recipe, pair, card=card, own_card=own_card, loads=loads, classifier=classifier, also=also
    )
    decides = (classifier or classifying.usable_in_studies(pair).first()) if kind.uses_classifier else None
    card = decides.card if decides else {}
    doubt = misfit("This study", card, recipe.sampling)
    fitting = trained_otherwise(card, recipe.sampling)
    return Plan(recipe.limit, pair.weight_bytes, line.outlook(queue), [doubt] if doubt else [], fitting)


def of_training(
    *, pair: Pair, dataset: Dataset, queue: Queue = Queue.CPU, limit: int | None = None, design: str = OURS, **_: Any
) -> Plan:
    classifying.check_training(pair, design)
    count = sum(min(limit or there, there) for there in dataset.splits.values())
    return Plan(count, pair.weight_bytes, line.outlook(queue), [])
