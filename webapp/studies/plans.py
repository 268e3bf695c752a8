"""Plan of a study or a training, shown beside its form: what is known before a worker has seen the pair."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Avg
from rest_framework.serializers import Serializer

from decoding.public import OURS, misfit, trained_otherwise, workload
from webapp.accounts.actor import Actor
from webapp.core.forms import Form
from webapp.jobs import line
from webapp.jobs.kinds import Kind
from webapp.jobs.models import Job, JobState, Queue
from webapp.registry.models import Dataset, Pair
from webapp.studies import services
from webapp.studies.classifiers import services as classifying
from webapp.studies.kinds import TRAINING
from webapp.studies.models import Classifier

RECENT = 5  # jobs of a kind that tell how fast that kind goes with a pair


@dataclass(frozen=True, slots=True)
class StudyPlan:
    prompt_count: int
    sample_count: int  # at most
    minutes: float | None  # None if nothing was measured with this pair
    is_rough: bool  # the time is that of comparisons, as no such job has run with this pair
    memory_bytes: int | None  # of the weights; None while a model is being checked
    start: str  # when a worker begins it, as a sentence
    notes: list[str]
    fitting: Mapping[str, Any] = field(default_factory=dict)  # as in the plan of a comparison


def shown(form: Form, kind: type[Serializer[Any]], plan: Callable[..., StudyPlan], actor: Actor) -> dict[str, Any]:
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


def _planned(form: Form, kind: type[Serializer[Any]], plan: Callable[..., StudyPlan], actor: Actor) -> dict[str, Any]:
    trial = Form(kind, data={"name": "plan", **form.body}, actor=actor)
    return {"plan": trial.submit(plan), "why_not": trial.refusal}


def of_study(
    *, kind: Kind, pair: Pair, queue: Queue = Queue.CPU, loads: Sequence[int] = (),
    classifier: Classifier | None = None,
    name: str = "", lookahead: int = 0, priority: int = 0, **asked: Any,
) -> StudyPlan:  # fmt: skip
    recipe, _ = services.specify(kind=kind, pair=pair, loads=loads, classifier=classifier, **asked)
    decides = (classifier or classifying.usable_in_studies(pair).first()) if kind.uses_classifier else None
    trained = decides.card if decides else {}
    doubt = misfit("This study", trained, recipe.sampling)
    study = workload.StudyRecipe(
        recipe.limit,
        recipe.sampling,
        loads,
        decides,
        is_undrafted=bool(pair.lacks),
    )
    count = kind.samples(study) if kind.samples else recipe.limit
    return StudyPlan(
        recipe.limit,
        count,
        *_minutes(kind, pair, queue, count * recipe.sampling.max_new_tokens),
        pair.weight_bytes,
        line.outlook(queue),
        [doubt] if doubt else [],
        trained_otherwise(trained, recipe.sampling),
    )


def of_training(
    *, pair: Pair, dataset: Dataset, max_new_tokens: int, queue: Queue = Queue.CPU, limit: int | None = None,
    design: str = OURS, **_: Any,
) -> StudyPlan:  # fmt: skip
    classifying.check_training(pair, dataset, design)
    parts = {name: min(limit or there, there) for name, there in dataset.splits.items()}
    count = sum(parts.values())
    held = parts.get("validation", -(-count // 5))
    samples = count + workload.samples_of_probe(held, classifiers=1, is_undrafted=bool(pair.lacks))
    tokens = samples * max_new_tokens
    return StudyPlan(
        count, samples, *_minutes(TRAINING, pair, queue, tokens), pair.weight_bytes, line.outlook(queue), []
    )


def _minutes(kind: Kind, pair: Pair, queue: Queue, tokens: int) -> tuple[float | None, bool]:
    """Estimate the time for so many tokens from earlier jobs of this kind on the pair, else from its comparisons; and
    say whether it is the latter."""
    of = kind.page
    done = Job.objects.filter(kind=kind.slug, queue=queue, state=JobState.SUCCEEDED, **{f"{of}__pair": pair})
    known = done.exclude(started=None).order_by("-created")
    rows = known.values_list("started", "finished", "total_count", "done_before", f"{of}__sampling")[:RECENT]
    paces = [
        (finished - started).total_seconds() / ((total - before) * sampling["max_new_tokens"])
        for started, finished, total, before, sampling in rows
        if total > before
    ]
    if paces:
        return tokens * statistics.median(paces) / 60, False
    compared = pair.comparisons.filter(job__queue=queue, runs__samples__tokens_per_s__gt=0)
    speed = compared.aggregate(mean=Avg("runs__samples__tokens_per_s"))["mean"]
    return (tokens / speed / 60 if speed else None), True
