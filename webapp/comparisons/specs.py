"""The specification of a comparison: strategies, loads, prompts and sampling that somebody asks for, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decoding.public import (
    NO_OBJECTIVE,
    SOURCES,
    STRATEGIES,
    BadLoad,
    BadStrategy,
    Choice,
    Load,
    Objective,
    choose,
    lacks_scores,
    loads,
    parse_objective,
    without_draft,
)
from webapp.comparisons import serving
from webapp.core.problems import Invalid
from webapp.jobs.models import USUAL_PRIORITY, Queue
from webapp.registry import recipes
from webapp.registry.models import Dataset, Endpoint, Pair
from webapp.registry.recipes import Recipe
from webapp.studies.classifiers import services as classifying

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
        """Devices that a worker reserves: a draft beside its target on a GPU has a core for itself. `auto` keeps it on
        the GPU."""
        is_beside = any(choice.params.get("placement") == "beside" for choice in self.choices)
        return 2 if self.queue == Queue.GPU and is_beside else 1


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
    named = _choices(strategies, pair)
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


def _choices(strategies: Sequence[Mapping[str, Any]], pair: Pair | None) -> tuple[Choice, ...]:
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
            choice = _for_pair(choice, pair, index)
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


def _objective(slo: str) -> Objective:
    try:
        return parse_objective(slo) if slo else NO_OBJECTIVE
    except BadLoad as error:
        raise Invalid(str(error), field="slo", code=error.code) from None


def _at_loads(choices: Sequence[Choice], asked: Sequence[Load], field: str) -> tuple[Choice, ...]:
    """Combine every strategy with every load, lightest first."""
    if len(choices) * len(asked) > MOST_RUNS:
        raise Invalid(
            f"{len(choices)} strategies at {len(asked)} loads are {len(choices) * len(asked)} runs; the most is "
            f"{MOST_RUNS}.",
            field=field,
            hint="Take fewer loads or strategies.",
        )
    return tuple(choice.at(load) for load in asked for choice in choices)


def _for_pair(choice: Choice, pair: Pair, index: int) -> Choice:
    """Refuse what the pair cannot run, and name the classifier that decides."""
    if pair.is_undrafted and choice.spec.needs_draft:
        hint = "Leave it out, or choose a pair with a draft."
        raise Invalid(without_draft.why_not(choice.label), field=f"strategies.{index}", hint=hint, code="no-draft")
    if pair.matches_text and choice.spec.needs_scores:
        hint = "Leave it out, or make a pair of these models with the setting tli."
        raise Invalid(lacks_scores(choice.label), field=f"strategies.{index}", hint=hint, code="other-tokenizer")
    return _with_classifier(choice, pair, index)


def _with_classifier(choice: Choice, pair: Pair, index: int) -> Choice:
    """Put in the id of the classifier that will decide: training another one later then changes nothing here. A label
    names one by the first 8 digits of its id."""
    asked = choice.classifier
    if asked is None:
        return choice
    there = classifying.usable_on(pair)
    learned, hint = "", "Train one on this pair, or add one, then compare with it."
    if choice.judges_copies:
        there = there.filter(card__design=SOURCES)
        learned, hint = " that has learned from copied tokens", "Train one with the design `sources`."
    elif pair.matches_text:
        there = there.filter(classifying.KNOWS_DRAFTS)
        learned = " that has learned from drafted tokens"
        hint = "Leave it out, or add one that was trained on these models with the setting tli."
    found = next((one for one in there if asked in (str(one.pk), str(one.pk)[:8])), None) if asked else there.first()
    if found is None:
        which = f"classifier {str(asked)[:40]!r}{learned}." if asked else f"classifier{learned} yet."
        field = f"strategies.{index}.params.classifier"
        more = {"design": SOURCES} if choice.judges_copies else {}
        code = "no-classifier" if more or not pair.matches_text else ""  # training helps
        raise Invalid(f"{pair.name} has no {which}", field=field, hint=hint, code=code, **more)
    return choice.asking(str(found.pk))
