"""Plan, launch and clone comparisons for people, and store the samples that workers decode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from decoding.public import Objective, mean_rate
from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.comparisons import trace
from webapp.comparisons.kinds import COMPARISON
from webapp.comparisons.models import Comparison, Run, Sample, Tag
from webapp.comparisons.specs import Spec, specify
from webapp.core.problems import Conflict
from webapp.entries.services import free_name
from webapp.jobs import log
from webapp.jobs import services as jobs
from webapp.jobs.models import Job, Queue
from webapp.registry import recipes
from webapp.registry.models import Prompt
from webapp.studies.models import Classifier

# What people do ------------------------------------------------------------------------------------------------------


def launch(*, by: Actor, name: str = "", cloned_from: Comparison | None = None, **asked: Any) -> Comparison:
    """Queue a comparison as `specify` takes it; a worker does the decoding."""
    by.require(Right.SUBMIT)
    return _queued(specify(**asked), by, name, cloned_from)


@transaction.atomic
def _queued(spec: Spec, by: Actor, name: str, cloned_from: Comparison | None) -> Comparison:
    name = name or free_name(Comparison, f"{spec.recipe.pair or 'Servers'} on {spec.recipe.dataset.name}", by)
    job = jobs.enqueue(
        kind=COMPARISON,
        queue=spec.queue,
        title=name,
        by=by,
        total=spec.sample_count,
        priority=spec.priority,
        device_count=spec.device_count,
    )
    comparison = Comparison.objects.create(
        team=by.home,
        created_by=by.user,
        name=name,
        repeats=spec.repeats,
        slo=spec.objective.to_dict(),
        job=job,
        cloned_from=cloned_from,
        **spec.recipe.columns,
    )
    Run.objects.bulk_create(
        Run(
            team=comparison.team,
            comparison=comparison,
            created=comparison.created,
            number=number,
            strategy=choice.strategy,
            params=dict(choice.params),
            label=choice.label,
            endpoint=spec.endpoint_of(choice),
            **Run.columns_of(choice.load),
        )
        for number, choice in enumerate(spec.choices, 1)
    )
    used = Classifier.objects.filter(pk__in=[c.classifier for c in spec.choices if c.classifier])
    recipes.freeze(spec.recipe.pair, spec.recipe.dataset, *used, *spec.endpoints.values())
    audit.record(by, "launched", comparison, sample_count=spec.sample_count)
    return comparison


@transaction.atomic
def describe(
    *,
    comparison: Comparison,
    by: Actor,
    name: str | None = None,
    notes: str | None = None,
    tags: Sequence[str] | None = None,
) -> None:
    """Change what people call a comparison and note about it. None leaves a part as it is."""
    by.require(Right.SUBMIT)
    words = {name: value for name, value in (("name", name), ("notes", notes)) if value is not None}
    if words:
        Comparison.objects.filter(pk=comparison.pk).update(**words)
    if tags is not None:
        comparison.tags.all().delete()
        Tag.objects.bulk_create(Tag(comparison=comparison, name=tag) for tag in dict.fromkeys(tags))
    if changed := [*words, *(["tags"] if tags is not None else [])]:
        audit.record(by, "described", comparison, changed=changed)


def asked_for(comparison: Comparison) -> dict[str, Any]:
    """Body that asks for this comparison again. A clone starts from it."""
    runs = list(comparison.runs.all())
    choices = [run.choice for run in runs if run.load == runs[0].load]
    return {
        "name": comparison.name,
        "pair": comparison.pair,
        "dataset": comparison.dataset,
        "split": comparison.split,
        "strategies": [{"strategy": choice.strategy, "params": choice.all_params} for choice in choices],
        "concurrency": list(dict.fromkeys(run.concurrency for run in runs if run.concurrency)),
        "rate": list(dict.fromkeys(run.rate for run in runs if run.rate and not run.recorded)),
        "recorded": _speeds(comparison, runs),
        "slo": str(Objective(**comparison.slo)),
        "sampling": comparison.sampling,
        "limit": comparison.limit,
        "repeats": comparison.repeats,
        "queue": Queue.GPU if comparison.job.queue == Queue.GPU else Queue.CPU,  # servers alone once waited in `light`
    }


def _speeds(comparison: Comparison, runs: Sequence[Run]) -> list[float]:
    """Return the speeds at which runs play a log."""
    rates = dict.fromkeys(run.rate for run in runs if run.rate and run.recorded)
    if not rates:
        return []
    own = mean_rate(list(comparison.prompts.values_list("at", flat=True)))
    return [round(rate / own, 9) for rate in rates]


# What workers do -----------------------------------------------------------------------------------------------------


@transaction.atomic
def begin(*, job: Job, hardware: Mapping[str, Any]) -> None:
    """Store the hardware and the versions that its worker runs on, once the pair is loaded."""
    jobs.require_lease(job)
    Comparison.objects.filter(job=job).update(hardware=dict(hardware))


@transaction.atomic
def store_prices(*, job: Job, prices: Mapping[str, Any]) -> None:
    """Store the prices of its classifiers, so that a later attempt uses the same."""
    jobs.require_lease(job)
    Comparison.objects.filter(job=job).update(prices=dict(prices))


@transaction.atomic
def begin_sample(*, job: Job, run: Run, prompt: Prompt, repeat: int, device: str) -> Sample:
    """Begin a sample anew. Delete what an earlier attempt left unfinished."""
    jobs.require_lease(job)
    Sample.objects.filter(run=run, prompt=prompt, repeat=repeat, finished=None).delete()
    log.announce(job.pk)
    made = {"attempt": job.attempt, "worker": job.worker, "device": device}
    return Sample.objects.create(team_id=run.team_id, run=run, prompt=prompt, repeat=repeat, created=Now(), **made)


@transaction.atomic
def finish_sample(*, job: Job, sample: Sample, last_seq: int, numbers: Mapping[str, Any], noise: str = "") -> None:
    """Store a sample's numbers (a decoding.measure.sample.SampleResult); its trace is already whole."""
    jobs.require_lease(job)
    written = Sample.objects.filter(pk=sample.pk, finished=None).update(
        finished=Now(),
        last_seq=last_seq,
        new_tokens=len(numbers["tokens"]) or numbers.get("delivered", 0),  # without a tokenizer here, a server counts
        tokens_per_s=numbers["tokens_per_s"],
        numbers=dict(numbers),
        noise=noise,
    )
    if not written:
        raise Conflict("This sample is finished already, or was begun anew by another attempt.", code="sample-is-over")
    trace.compact(sample=sample)
    log.announce(job.pk)


@transaction.atomic
def audit_samples(*, job: Job, numbers: Mapping[Sample, Mapping[str, Any]]) -> None:
    """Store the numbers again, now with the audit of the texts against autoregressive's."""
    jobs.require_lease(job)
    for sample, audited in numbers.items():
        Sample.objects.filter(pk=sample.pk).exclude(finished=None).update(numbers=dict(audited))
    log.announce(job.pk)


@transaction.atomic
def drop_unfinished(*, job: Job) -> None:
    """Delete unfinished samples: nobody decodes them any more."""
    jobs.require_lease(job)
    Sample.objects.filter(run__comparison__job=job, finished=None).delete()
    log.announce(job.pk)
