"""Actions on studies: people launch them, a worker stores their result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from decoding.public import BadSampling, Sampling
from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import Conflict, Invalid
from webapp.jobs import services as jobs
from webapp.jobs.models import USUAL_PRIORITY, Job, Kind, Queue
from webapp.registry import services as registry
from webapp.registry.models import Dataset, Pair, Readiness
from webapp.studies.models import Study

MOST_PROMPTS = 5000
MOST_CLASSIFIERS = 20  # of one pair, in one plan


# What people do ------------------------------------------------------------------------------------------------------


@transaction.atomic
def launch(
    *,
    kind: Kind,
    pair: Pair,
    dataset: Dataset,
    by: Actor,
    name: str = "",
    split: str = "",
    limit: int | None = None,
    lookahead: int = 5,
    sampling: Mapping[str, Any] | None = None,
    queue: Queue = Queue.CPU,
    priority: int = USUAL_PRIORITY,
) -> Study:
    """Queue a study. Nothing is decoded here."""
    by.require(Right.SUBMIT)
    _require_usable(pair)
    count = _prompt_count(dataset, split, limit)
    found = _sampling(sampling or {})
    name = name or f"{kind.label}: {pair.name} on {dataset.name}"[:200]
    job = jobs.enqueue(kind=kind, queue=queue, title=name, by=by, total=count, priority=priority)
    study = Study.objects.create(
        team=by.home,
        created_by=by.user,
        name=name,
        pair=pair,
        dataset=dataset,
        split=split,
        sampling=found.to_dict(),
        limit=count,
        lookahead=lookahead,
        job=job,
    )
    registry.freeze(pair, pair.target, pair.draft, dataset)
    audit.record(by, "launched", study, kind=kind, prompt_count=count)
    return study


def document_of(study: Study) -> dict[str, Any]:
    """Return the result with the pair, prompts and sampling that it holds for, fit to be kept as a file."""
    if study.document is None:
        raise Conflict(
            f"There is nothing to give yet: this study is {study.job.state}.",
            code="not-found-yet",
            hint="Wait until it has succeeded.",
            state=study.job.state,
        )
    made_of = {
        "study": str(study.pk),
        "made": study.job.finished,
        "pair": study.pair.name,
        "prompts": {"set": study.dataset.name, "split": study.split, "count": study.limit},
        "sampling": study.sampling,
    }
    return {"format": study.document["format"], **made_of, **study.document}


def _require_usable(pair: Pair) -> None:
    for role, model in (("target", pair.target), ("draft", pair.draft)):
        if model.state == Readiness.REFUSED:
            raise Invalid(
                f"The {role}, {model.name}, was refused: {model.reason}", field="pair", hint="Choose another."
            )


def _prompt_count(dataset: Dataset, split: str, limit: int | None) -> int:
    there = dataset.splits.get(split, 0) if split else dataset.prompt_count
    if not there:
        has = ", ".join(name or "(none)" for name in dataset.splits)
        raise Invalid(f"{dataset.name} has no split {split!r}; it has {has}.", field="split")
    count = min(limit or there, there)
    if count > MOST_PROMPTS:
        raise Invalid(
            f"These are {count} prompts; a study takes {MOST_PROMPTS} at most.", field="limit", hint="Give a limit."
        )
    return count


def _sampling(asked: Mapping[str, Any]) -> Sampling:
    try:
        return Sampling.from_dict(asked)
    except BadSampling as error:
        raise Invalid(str(error), field=f"sampling.{str(error).split()[0]}", code=error.code) from None


# What workers do -----------------------------------------------------------------------------------------------------


@transaction.atomic
def finish(*, job: Job, document: Mapping[str, Any]) -> None:
    """Store the result and end the job in one transaction, so never one without the other."""
    jobs.require_lease(job)
    Study.objects.filter(job=job).update(document=dict(document))
    jobs.succeed(job=job)
