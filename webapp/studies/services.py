"""Launch studies for people, and store the documents that workers find."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import transaction

from decoding.public import FIGURE_FILES, FIGURES, BadCard, Card, card_in_the_box, kept_as, read_card
from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import Conflict, Invalid, NotFound
from webapp.entries.services import free_name
from webapp.jobs import services as jobs
from webapp.jobs.kinds import Kind
from webapp.jobs.models import USUAL_PRIORITY, Job, Queue
from webapp.registry import recipes
from webapp.registry.models import Dataset, Pair
from webapp.registry.recipes import Recipe
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier, Study

MOST_PROMPTS = 5000
ENDINGS = tuple(FIGURE_FILES)  # of a figure's files
MOST_LOADS = 8  # of a plan
MOST_USERS = 64  # at once, in a plan
MOST_CLASSIFIERS = 20  # of one pair, in one plan
MADE_OF = "made of"  # among the parts of a study: a hash of the files that they were made of


# What people do ------------------------------------------------------------------------------------------------------


@transaction.atomic
def launch(
    *, kind: Kind, pair: Pair, dataset: Dataset, by: Actor, name: str = "", lookahead: int = 5,
    queue: Queue = Queue.CPU, priority: int = USUAL_PRIORITY, **asked: Any,
) -> Study:  # fmt: skip
    """Queue a study as `specify` takes it; a worker does the decoding."""
    by.require(Right.SUBMIT)
    recipe, arguments = specify(kind=kind, pair=pair, dataset=dataset, **asked)
    name = name or free_name(Study, f"{kind.label}: {pair.name} on {dataset.name}", by)
    job = jobs.enqueue(
        kind=kind,
        queue=queue,
        title=name,
        by=by,
        total=recipe.limit,
        priority=priority,
        arguments=arguments,
    )
    study = Study.objects.create(
        team=by.home,
        created_by=by.user,
        name=name,
        lookahead=lookahead,
        job=job,
        **recipe.columns,
    )
    recipes.freeze(pair, dataset, *([chosen] if (chosen := asked.get("classifier")) else []))
    audit.record(by, "launched", study, kind=kind.slug, prompt_count=recipe.limit)
    return study


def specify(
    *, kind: Kind, pair: Pair, dataset: Dataset, split: str = "", limit: int | None = None,
    sampling: Mapping[str, Any] | None = None, card: str = "", own_card: str = "", loads: Sequence[int] = (),
    classifier: Classifier | None = None,
) -> tuple[Recipe, dict[str, Any]]:  # fmt: skip
    """Return the recipe of a study and what it is asked besides; raise Invalid if a part is refused."""
    if kind.needs_draft:
        recipes.require_draft(pair, f"A study of the kind {kind.slug}")
        recipes.require_scores(pair, f"A study of the kind {kind.slug}")
    recipe = recipes.checked(pair=pair, dataset=dataset, split=split, limit=limit, sampling=sampling)
    if recipe.limit > MOST_PROMPTS:
        raise Invalid(
            f"These are {recipe.limit} prompts; a study takes {MOST_PROMPTS} at most.",
            field="limit", hint="Give a limit.",
        )  # fmt: skip
    own = {"card": _card(card, own_card).to_dict()} if kind.needs_card else _loads(kind, loads)
    return recipe, {**own, **_classifier(kind, pair, classifier)}


def document_of(study: Study) -> dict[str, Any]:
    """Document of a study with its recipe, to be kept as a file."""
    if study.document is None:
        raise Conflict(
            f"This study has no document yet: its job is {study.job.state}.",
            code="not-found-yet",
            hint="Wait until it has succeeded.",
            state=study.job.state,
        )
    made_of = {
        "study": str(study.pk),
        "made": study.job.finished,
        "pair": study.pair.name,
        "prompts": {"set": study.dataset.name, "split": study.split, "count": study.prompt_count},
        "sampling": study.sampling,
    }
    found = {"format": study.document["format"], **made_of, **study.document}
    if "classifier" in found:
        found["classifier"] = _named(study)
    return found


def classifier_of(study: Study) -> Classifier | None:
    """Return the classifier that decided, if one did and it is still there."""
    name = study.found("classifier")
    return Classifier.objects.filter(pk=name).first() if name else None


def _named(study: Study) -> dict[str, str] | None:
    name, found = study.found("classifier"), classifier_of(study)
    return {"id": name, "name": found.name if found else "one that is gone"} if name else None


def _loads(kind: Kind, users: Sequence[int]) -> dict[str, Any]:
    if not users:
        return {}
    if not kind.takes_loads:
        raise Invalid(
            f"A study of the kind {kind.slug} is not made for several users at once.",
            field="loads", hint="Leave the field empty, or make a plan.",
        )  # fmt: skip
    if len({*users}) < len(users):
        raise Invalid("A number of users is named twice; name it once.", field="loads")
    return {"loads": sorted(users)}


def _classifier(kind: Kind, pair: Pair, chosen: Classifier | None) -> dict[str, str]:
    if chosen is None:
        return {}
    if not kind.uses_classifier:
        raise Invalid(
            f"A study of the kind {kind.slug} uses no classifier.", field="classifier", hint="Leave the field empty."
        )
    if not classifying.usable_in_studies(pair).filter(pk=chosen.pk).exists():
        why = "is a classifier of another pair" + ", or judges no copies" * pair.matches_text
        raise Invalid(f"{chosen.name} {why}.", field="classifier", hint=f"Choose one of {pair.name}.")
    return {"classifier": str(chosen.pk)}


def _card(name: str, own: str) -> Card:
    try:
        return read_card(own) if own.strip() else card_in_the_box(name)
    except BadCard as error:
        field = "own_card" if own.strip() else "card"
        raise Invalid(str(error), field=field, code=error.code) from None


def figures_of(study: Study) -> list[dict[str, Any]]:
    """Figures of the papers that are finished so far."""
    if study.document is not None:
        return list(study.document.get("figures") or [])
    kept = (study.parts.get(kept_as(slug)) for slug in FIGURES)
    return [figure for figure in kept if figure]


def figure_file(study: Study, name: str) -> str:
    """Make a figure's file, as in `ssd-3.csv`."""
    figures = figures_of(study)
    if not figures:
        raise Conflict("This study has no figures, or none that is finished yet.", code="no-figures")
    slug, _, ending = name.rpartition(".")
    figure = next((found for found in figures if found["slug"] == slug and not found["needs"]), None)
    if figure is None or ending not in FIGURE_FILES:
        raise NotFound(
            f"This study has no file {name[:100]!r}. Its files are called FIGURE.ENDING: a figure that is drawn, and "
            f"{', '.join(FIGURE_FILES)}."
        )
    return FIGURE_FILES[ending](figure)


# What workers do -----------------------------------------------------------------------------------------------------


@transaction.atomic
def kept(*, job: Job, made_of: str) -> dict[str, Any]:
    """Return what earlier attempts kept. Parts that were made of other files are dropped: numbers of two classifiers
    must not get into one figure."""
    jobs.require_lease(job)
    study = Study.objects.only("parts").get(job=job)
    if study.parts.get(MADE_OF) != made_of:
        study.parts = {MADE_OF: made_of}
        study.save(update_fields=["parts"])
    return dict(study.parts)


@transaction.atomic
def keep(*, job: Job, name: str, data: Any) -> None:
    """Keep a piece of evidence or a finished figure, for another attempt."""
    jobs.require_lease(job)
    study = Study.objects.only("parts", "document").get(job=job)
    study.parts[name] = data
    study.save(update_fields=["parts"])
    if name in map(kept_as, FIGURES):
        drawn = f"Drawn: {data['number']}, {data['title']}."
        jobs.note(job=job, sentence=drawn, numbers={"figures": len(figures_of(study))})


@transaction.atomic
def finish(*, job: Job, document: Mapping[str, Any]) -> None:
    """Store the document and end the job in one transaction, so that neither is without the other."""
    jobs.require_lease(job)
    Study.objects.filter(job=job).update(document=dict(document), parts={})
    jobs.succeed(job=job)
