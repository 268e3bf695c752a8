"""Add classifiers: files that somebody sends, or the result of a training."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q

from decoding.public import OURS, SOURCES, SPLITS, CopyJudge, read_judge
from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import Conflict, Invalid, NotFound
from webapp.entries.models import Kept
from webapp.jobs import services as jobs
from webapp.jobs.models import USUAL_PRIORITY, Job, Queue
from webapp.registry import checkpoints, recipes
from webapp.registry.models import Dataset, Pair
from webapp.studies.classifiers import cards
from webapp.studies.kinds import TRAINING
from webapp.studies.models import Classifier, Training
from webapp.uploads import services as uploads
from webapp.uploads.models import Upload, UploadedFile
from webapp.uploads.reading import whole

LARGEST_CLASSIFIER = 64 * 1024 * 1024
KNOWS_DRAFTS = Q(card__pair__isnull=True) | ~Q(card__pair=[])  # trained on a target alone, its card names no pair
LARGEST_JUDGE = 64 * 1024  # bytes; each estimate takes time in proportion, and ours have 2 KiB


def card_of(pair: Pair, upload: Upload) -> dict[str, Any]:
    """Check one safetensors file with a JSON card beside it, as training writes them. Return the card."""
    uploads.require_complete(upload)
    names = sorted(file.name for file in upload.files.all())
    weights = [file for file in upload.files.all() if file.path.endswith(".safetensors")]
    is_plain = all(name.endswith((".safetensors", ".json")) for name in names) and len(set(names)) == len(names)
    if len(weights) != 1 or not is_plain:
        raise Invalid(
            f"A classifier is one .safetensors file with JSON beside it; this upload has {', '.join(names)[:200]}.",
            field="upload",
        )
    if weights[0].size > LARGEST_CLASSIFIER:
        raise Invalid(
            f"{weights[0].path} has {weights[0].size} bytes; a classifier's may have {LARGEST_CLASSIFIER}.",
            field="upload",
        )
    checkpoints.check_weights(weights[0], upload.team_id)
    card = cards.of_upload(upload)
    _require_copies(pair, card.get("design", OURS))
    return card


def add_classifier(
    *, name: str, pair: Pair, upload: Upload, by: Actor, card: dict[str, Any] | None = None
) -> Classifier:
    """Add an upload as a classifier. Give the card that `card_of` found where a transaction is open."""
    by.require(Right.SUBMIT)
    card = card_of(pair, upload) if card is None else card
    metrics = cards.metrics_of(card)
    with transaction.atomic():
        classifier = Classifier.objects.create(
            team=by.home, created_by=by.user, name=name, pair=pair, upload=upload, card=card, metrics=metrics
        )
        audit.record(by, "added", classifier)
    return classifier


def usable_on(pair: Pair) -> Kept:
    """Return the classifiers that may decide on this pair, the newest first. On a target alone they judge copies, which
    they know by the text alone: those of pairs with the same target serve too."""
    of_copies = {"pair__target": pair.target_id, "team": pair.team_id, "card__design": SOURCES}
    whose = of_copies if pair.is_undrafted else {"pair": pair}
    return Classifier.objects.filter(**whose).kept().order_by("-created")


def usable_in_studies(pair: Pair) -> Kept:
    """Return those that may decide in a study of this pair. If its draft matches text, they judge copies."""
    found = usable_on(pair)
    return found.filter(card__design=SOURCES) if pair.matches_text else found


def files(upload: Upload) -> dict[str, UploadedFile]:
    """Files by name: they lie in one folder, however they were sent."""
    return {file.name: file for file in upload.files.all()}


def classifier_file(*, classifier: Classifier, name: str) -> bytes:
    """Content of one of its files: weights or card."""
    if file := files(classifier.upload).get(name):
        return whole(file, classifier.upload.team_id, longest=LARGEST_CLASSIFIER)
    raise NotFound(f"{classifier.name} has no file {name[:80]!r}.")


def judge_of(classifier: Classifier) -> CopyJudge:
    """Return what estimates copied tokens. Raise BadStrategy or Invalid if the files hold no such thing."""
    [weights] = [file for file in classifier.upload.files.all() if file.path.endswith(".safetensors")]
    return read_judge(whole(weights, classifier.upload.team_id, longest=LARGEST_JUDGE), classifier.card)


def check_training(pair: Pair, dataset: Dataset, design: str) -> None:
    """Refuse a training that cannot record what it learns from, or that lacks a split."""
    there = {name for name in SPLITS if dataset.splits.get(name)}
    if missing := [name for name in SPLITS if there and name not in there]:
        raise Invalid(
            f"{dataset.name} has no prompts in {' and '.join(missing)}; a classifier needs train, validation and test.",
            field="dataset",
            hint="Give some prompts these splits, or none any: then they are dealt.",
        )
    if design != SOURCES:
        hint = "Choose the design `sources`, which learns from copies, or make a pair with the setting tli."
        recipes.require_scores(pair, f"Training a classifier of the design {design}", hint)
    _require_copies(pair, design)


def _require_copies(pair: Pair, design: str) -> None:
    """On a target alone, refuse a design that knows drafted tokens only."""
    if design != SOURCES:
        recipes.require_draft(
            pair,
            f"A classifier of the design {design}",
            "Choose a pair with a draft, or the design `sources`, which learns from copies too.",
        )


@transaction.atomic
def train_classifier(
    *,
    name: str,
    pair: Pair,
    dataset: Dataset,
    by: Actor,
    limit: int | None = None,
    design: str = OURS,
    queue: Queue = Queue.CPU,
    priority: int = USUAL_PRIORITY,
    **how: Any,
) -> Training:
    """Queue a training. The prompts' splits say which train, tune and test; a set without splits is divided. `how`
    holds the fields of Sampling. Under ratio dice it learns from chances of acceptance, not from yes and no."""
    by.require(Right.SUBMIT)
    check_training(pair, dataset, design)
    sampling = recipes.sampling_of(how)
    job = jobs.enqueue(kind=TRAINING, queue=queue, title=f"Train {name}", by=by, priority=priority)
    training = Training.objects.create(
        job=job,
        pair=pair,
        dataset=dataset,
        name=name,
        limit=limit,
        sampling=sampling.to_dict(),
        design=design,
    )
    recipes.freeze(pair, dataset)
    audit.record(by, "launched", job)
    return training


def finish_training(*, job: Job, files: Iterable[tuple[str, bytes]]) -> None:
    """Add the classifier that a worker made and end its job, in one transaction, so it is never added twice."""
    training = Training.objects.select_related("pair").get(job=job)
    if job.created_by is None:
        raise Conflict("Whoever asked for this classifier is gone, so it would belong to nobody.")
    by = Actor(job.created_by, job.team, Right.SUBMIT)
    upload = uploads.keep(team=job.team, name=training.name, files=files, by=by)
    card = card_of(training.pair, upload)
    with transaction.atomic():
        jobs.require_lease(job)
        training.classifier = add_classifier(name=training.name, pair=training.pair, upload=upload, by=by, card=card)
        training.save(update_fields=["classifier"])
        jobs.succeed(job=job)
