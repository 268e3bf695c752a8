"""Plan, launch and clone comparisons for people, and store the samples that workers decode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from decoding.public import (
    NO_OBJECTIVE,
    ONE,
    STRATEGIES,
    BadLoad,
    BadStrategy,
    Choice,
    Load,
    Objective,
    alone,
    choose,
    loads,
    mean_rate,
    parse_objective,
)
from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.comparisons import room, serving, trace
from webapp.comparisons.kinds import COMPARISON
from webapp.comparisons.models import Comparison, Run, Sample, Tag
from webapp.core.problems import Conflict, Invalid
from webapp.jobs import services as jobs
from webapp.jobs.models import USUAL_PRIORITY, Job, Queue
from webapp.registry import recipes
from webapp.registry.models import Dataset, Endpoint, Pair, Prompt
from webapp.registry.recipes import Recipe
from webapp.studies.models import Classifier

MOST_STRATEGIES = 32
MOST_LOADS = 16
MOST_RUNS = 64
MOST_SAMPLES = 100_000


@dataclass(frozen=True, slots=True)
class Spec:
    """A comparison that somebody asks for. Every part was checked: it exists, fits the others and is within bounds."""

    recipe: Recipe
    choices: tuple[Choice, ...]
    repeats: int
    queue: Queue
    priority: int
    objective: Objective
    endpoints: Mapping[str, Endpoint]  # servers that take part, by name

    def endpoint_of(self, choice: Choice) -> Endpoint | None:
        return self.endpoints[str(choice.params["name"])] if choice.spec.role == "server" else None

    @property
    def sample_count(self) -> int:
        return len(self.choices) * self.recipe.limit * self.repeats

    @property
    def device_count(self) -> int:
        """Devices that a worker reserves: a draft beside its target on a GPU has a core for itself."""
        is_beside = any(choice.params.get("placement") in ("auto", "beside") for choice in self.choices)
        return 2 if self.queue == Queue.GPU and is_beside else 1


# What people do ------------------------------------------------------------------------------------------------------


def specify(
    *,
    pair: Pair | None = None,
    dataset: Dataset,
    strategies: Sequence[Mapping[str, Any]],
    sampling: Mapping[str, Any] | None = None,
    split: str = "",
    limit: int | None = None,
    repeats: int = 1,
    concurrency: Sequence[int] = (),
    rate: Sequence[float] = (),
    recorded: Sequence[float] = (),
    slo: str = "",
    queue: Queue = Queue.CPU,
    priority: int = USUAL_PRIORITY,
) -> Spec:
    recipe = recipes.checked(pair=pair, dataset=dataset, split=split, limit=limit, sampling=sampling)
    asked_loads = _loads(concurrency, rate, recorded, recipe)
    endpoints = serving.named_in(strategies, dataset, recipe.sampling)
    if pair is None:
        serving.require_plain(recipe.prompts)
    named = _choices(strategies, pair, queue)
    choices = _at_loads(named, asked_loads, "concurrency" if concurrency else "rate" if rate else "recorded")
    spec = Spec(recipe, choices, repeats, queue, priority, _objective(slo), endpoints)
    if spec.sample_count > MOST_SAMPLES:
        at = f" at {len(asked_loads)} loads" if len(asked_loads) > 1 else ""
        raise Invalid(
            f"{len(named)} strategies{at} × {recipe.limit} prompts × {repeats} repeats are {spec.sample_count}; the "
            f"most is {MOST_SAMPLES}.",
            field="limit",
            hint="Take fewer prompts, repeats, strategies or loads.",
        )
    return spec


@transaction.atomic
def launch(*, name: str, spec: Spec, by: Actor, cloned_from: Comparison | None = None) -> Comparison:
    """Queue a comparison; a worker does the decoding."""
    by.require(Right.SUBMIT)
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
            comparison=comparison,
            number=number,
            strategy=choice.strategy,
            params=dict(choice.params),
            label=choice.label,
            endpoint=spec.endpoint_of(choice),
            **Run.columns_of(choice.load),
        )
        for number, choice in enumerate(spec.choices, 1)
    )
    used = Classifier.objects.filter(pk__in=[c.params["classifier"] for c in spec.choices if "classifier" in c.params])
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
    return {
        "name": comparison.name,
        "pair": comparison.pair,
        "dataset": comparison.dataset,
        "split": comparison.split,
        "strategies": [{"strategy": r.strategy, "params": r.params} for r in runs if r.load == runs[0].load],
        "concurrency": list(dict.fromkeys(run.concurrency for run in runs if run.concurrency)),
        "rate": list(dict.fromkeys(run.rate for run in runs if run.rate and not run.recorded)),
        "recorded": _speeds(comparison, runs),
        "slo": str(Objective(**comparison.slo)),
        "sampling": comparison.sampling,
        "limit": comparison.limit,
        "repeats": comparison.repeats,
        "queue": Queue(comparison.job.queue),
    }


def usual_name(asked: Mapping[str, Any]) -> str:
    """Name a comparison that nobody has named."""
    return f"{asked.get('pair') or 'Servers'} on {asked['dataset'].name}"[:200]


def _choices(strategies: Sequence[Mapping[str, Any]], pair: Pair | None, queue: Queue) -> tuple[Choice, ...]:
    """Strategies in the order asked for; the baseline comes first, and is added if nobody asked for it. Of servers
    alone the first is the baseline."""
    found: list[Choice] = []
    for index, asked in enumerate(strategies):
        try:
            choice = choose(asked["strategy"], asked.get("params") or {})
        except BadStrategy as error:
            raise Invalid(str(error), field=f"strategies.{index}", code=error.code) from None
        if pair is None:
            serving.require_server(choice, index)
        else:
            choice = _for_pair(choice, pair, queue, index)
        if choice in found:
            raise Invalid(f"{choice.label} is named twice.", field=f"strategies.{index}", hint="Once is enough.")
        found.append(choice)
    if pair is None:
        return tuple(found)
    baselines = [choice for choice in found if choice.spec.role == "baseline"]
    if not baselines:
        baselines = [choose(next(slug for slug, spec in STRATEGIES.items() if spec.role == "baseline"))]
    return (*baselines, *(choice for choice in found if choice not in baselines))


def _loads(
    concurrency: Sequence[int], rate: Sequence[float], speeds: Sequence[float], recipe: Recipe
) -> tuple[Load, ...]:
    arrivals = list(recipe.prompts.values_list("at", flat=True)) if speeds else []
    asked = {"concurrency": (concurrency, (), ()), "rate": ((), rate, ()), "recorded": ((), (), speeds)}
    for field, parts in asked.items():
        try:
            loads(*parts, arrivals)
        except BadLoad as error:
            raise Invalid(str(error), field=field, code=error.code) from None
    return loads(concurrency, rate, speeds, arrivals)


def _speeds(comparison: Comparison, runs: Sequence[Run]) -> list[float]:
    """Return the speeds at which runs play a log."""
    rates = dict.fromkeys(run.rate for run in runs if run.rate and run.recorded)
    if not rates:
        return []
    own = mean_rate(list(comparison.prompts.values_list("at", flat=True)))
    return [round(rate / own, 9) for rate in rates]


def _objective(slo: str) -> Objective:
    try:
        return parse_objective(slo) if slo else NO_OBJECTIVE
    except BadLoad as error:
        raise Invalid(str(error), field="slo", code=error.code) from None


def _at_loads(choices: Sequence[Choice], asked: Sequence[Load], field: str) -> tuple[Choice, ...]:
    """Every strategy at every load, lightest first."""
    if len(choices) * len(asked) > MOST_RUNS:
        raise Invalid(
            f"{len(choices)} strategies at {len(asked)} loads are {len(choices) * len(asked)} runs; the most is "
            f"{MOST_RUNS}.",
            field=field,
            hint="Take fewer loads or strategies.",
        )
    beside = [choice for choice in choices if choice.params.get("placement", "in-turn") != "in-turn"]
    if beside and any(load != ONE for load in asked):
        raise Invalid(
            f"{beside[0].label}: a draft that works beside the target serves one request at a time.",
            field="strategies",
            hint="Under load choose placement in-turn.",
        )
    return tuple(choice.at(load) for load in asked for choice in choices)


def _for_pair(choice: Choice, pair: Pair, queue: Queue, index: int) -> Choice:
    """Refuse what the pair cannot run, and name the classifier that decides."""
    if pair.is_alone and choice.spec.needs_draft:
        hint = "Leave it out, or choose a pair with a draft."
        raise Invalid(alone.why_not(choice.label), field=f"strategies.{index}", hint=hint, code="no-draft")
    if (why := room.why_nowhere(choice, pair, queue)) is not None:
        raise Invalid(why, field=f"strategies.{index}", hint=room.REMEDY, code="out-of-memory")
    return _with_classifier(choice, pair, index)


def _with_classifier(choice: Choice, pair: Pair, index: int) -> Choice:
    """Put in the id of the classifier that will decide: training another one later then changes nothing here. A label
    names one by the first 8 digits of its id."""
    asked = choice.params.get("classifier")
    if asked is None:
        return choice
    there = pair.classifiers.kept().order_by("-created")
    found = next((one for one in there if asked in (str(one.pk), str(one.pk)[:8])), None) if asked else there.first()
    if found is None:
        what = f"{pair.name} has no classifier {str(asked)[:40]!r}." if asked else f"{pair.name} has no classifier yet."
        hint = "Train one on this pair, or add one, then compare with it."
        raise Invalid(what, field=f"strategies.{index}.params.classifier", hint=hint)
    return Choice(choice.strategy, {**choice.params, "classifier": str(found.pk)})


# What workers do -----------------------------------------------------------------------------------------------------


@transaction.atomic
def begin(*, job: Job, hardware: Mapping[str, Any]) -> None:
    """Store the hardware and the versions that its worker runs on, once the pair is loaded."""
    jobs.require_lease(job)
    Comparison.objects.filter(job=job).update(hardware=dict(hardware))


@transaction.atomic
def begin_sample(*, job: Job, run: Run, prompt: Prompt, repeat: int, device: str) -> Sample:
    """Begin a sample anew. Delete what an earlier attempt left unfinished."""
    jobs.require_lease(job)
    Sample.objects.filter(run=run, prompt=prompt, repeat=repeat, finished=None).delete()
    trace.nudge(run.comparison_id)
    return Sample.objects.create(
        run=run, prompt=prompt, repeat=repeat, attempt=job.attempt, worker=job.worker, device=device
    )


@transaction.atomic
def finish_sample(*, job: Job, sample: Sample, last_seq: int, numbers: Mapping[str, Any], noise: str = "") -> None:
    """Store a sample's numbers (a decoding.measure.sample.Sample); its trace is already whole."""
    jobs.require_lease(job)
    written = Sample.objects.filter(pk=sample.pk, finished=None).update(
        finished=timezone.now(),
        last_seq=last_seq,
        new_tokens=len(numbers["tokens"]) or numbers.get("delivered", 0),  # without a tokenizer here, a server counts
        tokens_per_s=numbers["tokens_per_s"],
        numbers=dict(numbers),
        noise=noise,
    )
    if not written:
        raise Conflict("This sample is finished already, or was begun anew by another attempt.", code="sample-is-over")
    trace.compact(sample=sample)
    trace.nudge(sample.run.comparison_id)


@transaction.atomic
def audit_samples(*, job: Job, numbers: Mapping[Sample, Mapping[str, Any]]) -> None:
    """Store the numbers again, now with the audit of the texts against autoregressive's."""
    jobs.require_lease(job)
    for sample, audited in numbers.items():
        Sample.objects.filter(pk=sample.pk).exclude(finished=None).update(numbers=dict(audited))


@transaction.atomic
def drop_unfinished(*, job: Job) -> None:
    """Delete unfinished samples: nobody decodes them any more."""
    jobs.require_lease(job)
    Sample.objects.filter(run__comparison__job=job, finished=None).delete()


# What pages ask ------------------------------------------------------------------------------------------------------


def progress(comparisons: Sequence[Comparison]) -> dict[Any, int]:
    """Count the finished samples of each comparison."""
    counted = (
        Sample.objects.filter(run__comparison__in=[comparison.pk for comparison in comparisons])
        .finished()
        .values_list("run__comparison_id")
        .annotate(Count("pk"))
    )
    return dict(counted)
