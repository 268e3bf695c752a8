"""Registering what comparisons are made of."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from decoding import prompts
from decoding.errors import BadPrompts, BadSampling
from decoding.spec import Sampling
from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import Conflict, Invalid, NotFound
from webapp.jobs import services as jobs
from webapp.jobs.models import Job, Kind, Queue
from webapp.registry import cards, checkpoints, pairing, tables
from webapp.registry.checkpoints import Facts
from webapp.registry.models import Classifier, Dataset, Entry, LanguageModel, Pair, Prompt, Readiness, Training
from webapp.uploads import services as uploads
from webapp.uploads.models import Upload
from webapp.uploads.reading import FileReader, whole

LARGEST_PROMPT_FILE = 64 * 1024 * 1024
LARGEST_CLASSIFIER = 64 * 1024 * 1024
MOST_PROMPTS = 100_000
PREVIEW = 5


# Models --------------------------------------------------------------------------------------------------------------


@transaction.atomic
def add_uploaded_model(*, name: str, upload: Upload, by: Actor) -> LanguageModel:
    """Look at the files at once; a worker then loads the tokenizer and says whether it can run."""
    by.require(Right.SUBMIT)
    _require_complete(upload)
    facts = checkpoints.examine(upload.files.all(), upload.team_id)
    return _add_model(
        by, Kind.CHECK_MODEL, name=name, source=LanguageModel.Source.UPLOAD, upload=upload, facts=_as_json(facts)
    )


@transaction.atomic
def add_hub_model(*, name: str, hub_id: str, revision: str, by: Actor) -> LanguageModel:
    """A worker fetches it; nothing is fetched here."""
    by.require(Right.SUBMIT)
    return _add_model(
        by, Kind.FETCH_MODEL, name=name, source=LanguageModel.Source.HUB, location=hub_id, revision=revision
    )


@transaction.atomic
def add_path_model(*, name: str, path: str, by: Actor) -> LanguageModel:
    """A folder on the worker, below one of those that the operator allows."""
    by.require(Right.SUBMIT)
    pure = PurePosixPath(path)
    allowed = any(pure.is_relative_to(root) and pure != PurePosixPath(root) for root in settings.MODEL_ROOTS)
    if ".." in pure.parts or not allowed:
        roots = ", ".join(map(str, settings.MODEL_ROOTS))
        raise Invalid(
            f"The path {path[:80]!r} is not one that the operator allows.",
            field="path",
            hint=f"Choose a folder below {roots}." if roots else "The operator allows none; upload the model instead.",
        )
    return _add_model(by, Kind.CHECK_MODEL, name=name, source=LanguageModel.Source.PATH, location=str(pure))


def _add_model(by: Actor, kind: Kind, **columns: Any) -> LanguageModel:
    title = f"{'Fetch' if kind == Kind.FETCH_MODEL else 'Check'} {columns['name']}"
    job = jobs.enqueue(kind=kind, queue=Queue.CPU, title=title, by=by)
    model = LanguageModel.objects.create(team=by.home, created_by=by.user, job=job, **columns)
    audit.record(by, "added", model)
    return model


@transaction.atomic
def model_is_ready(*, model: LanguageModel, facts: Mapping[str, Any]) -> None:
    """The worker has loaded its tokenizer and found it sound."""
    model.state, model.facts, model.reason = Readiness.READY, {**model.facts, **facts}, ""
    model.save(update_fields=["state", "facts", "reason"])


@transaction.atomic
def could_not_check_model(*, model: LanguageModel, reason: str) -> None:
    model.reason = reason
    model.save(update_fields=["reason"])


@transaction.atomic
def refuse_model(*, model: LanguageModel, reason: str) -> None:
    model.state, model.reason = Readiness.REFUSED, reason
    model.save(update_fields=["state", "reason"])


# Pairs ---------------------------------------------------------------------------------------------------------------


def check_pair(*, target: LanguageModel, draft: LanguageModel) -> list[dict[str, str]]:
    return pairing.findings(target, draft)


@transaction.atomic
def add_pair(*, name: str, target: LanguageModel, draft: LanguageModel, by: Actor) -> Pair:
    by.require(Right.SUBMIT)
    found = check_pair(target=target, draft=draft)
    pair = Pair.objects.create(team=by.home, created_by=by.user, name=name, target=target, draft=draft, findings=found)
    audit.record(by, "added", pair)
    return pair


# Prompt sets ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Preview:
    """What would become of a prompt file."""

    columns: list[str]
    prompt_count: int
    splits: dict[str, int]
    categories: dict[str, int]
    first: list[prompts.Prompt]


def preview(
    *, file_name: str, text: str, form: str = "", template: str = "", mapping: Mapping[str, str] | None = None
) -> Preview:
    found = _read(file_name, text, form, template, mapping)
    return Preview(
        columns=tables.columns(text, file_name),
        prompt_count=len(found),
        splits=_count(prompt.split for prompt in found),
        categories=_count(prompt.category for prompt in found),
        first=found[:PREVIEW],
    )


def text_of(upload: Upload) -> tuple[str, str]:
    """Name and text of the one file of an upload."""
    _require_complete(upload)
    files = list(upload.files.all())
    if len(files) != 1:
        raise Invalid(f"A prompt set is one file; this upload has {len(files)}.", field="upload")
    content = whole(files[0], upload.team_id, longest=LARGEST_PROMPT_FILE)
    try:
        return files[0].path.rsplit("/")[-1], prompts.decode(content, files[0].path)
    except BadPrompts as error:
        raise Invalid(str(error), field="upload", code=error.code) from None


def add_pasted_dataset(*, file_name: str, text: str, by: Actor, **options: Any) -> Dataset:
    by.require(Right.SUBMIT)
    _read(file_name, text, options.get("form", ""), options.get("template", ""), options.get("mapping"))
    content = [(file_name, text.encode())]
    upload = uploads.keep(team=by.home, name=file_name, files=content, by=by)
    return add_dataset(upload=upload, by=by, **options)


@transaction.atomic
def add_dataset(
    *,
    name: str,
    upload: Upload,
    by: Actor,
    form: str = "",
    template: str = "",
    mapping: Mapping[str, str] | None = None,
) -> Dataset:
    by.require(Right.SUBMIT)
    file_name, text = text_of(upload)
    found = _read(file_name, text, form, template, mapping)
    dataset = Dataset.objects.create(
        team=by.home,
        created_by=by.user,
        name=name,
        upload=upload,
        file_name=file_name,
        form=form,
        template=template,
        mapping=dict(mapping or {}),
        prompt_count=len(found),
        splits=_count(prompt.split for prompt in found),
        categories=_count(prompt.category for prompt in found),
    )
    Prompt.objects.bulk_create(
        (
            Prompt(
                dataset=dataset,
                number=number,
                name=prompt.id[:200],
                text=prompt.text,
                category=prompt.category[:200],
                split=prompt.split,
                reference=prompt.reference,
            )
            for number, prompt in enumerate(found, 1)
        ),
        batch_size=500,
    )
    audit.record(by, "added", dataset, prompt_count=len(found))
    return dataset


def _read(
    file_name: str, text: str, form: str, template: str, mapping: Mapping[str, str] | None
) -> list[prompts.Prompt]:
    found = tables.read(text, file_name, form=form, template=template, mapping=mapping)
    if len(found) > MOST_PROMPTS:
        raise Invalid(f"{file_name} holds {len(found)} prompts; a set may have {MOST_PROMPTS}.", hint="Split the file.")
    return found


# Classifiers ---------------------------------------------------------------------------------------------------------


@transaction.atomic
def add_classifier(*, name: str, pair: Pair, upload: Upload, by: Actor) -> Classifier:
    """One safetensors file beside a JSON card: what training leaves, and what export gave."""
    by.require(Right.SUBMIT)
    _require_complete(upload)
    names = sorted(file.path.rsplit("/")[-1] for file in upload.files.all())
    weights = [file for file in upload.files.all() if file.path.endswith(".safetensors")]
    if len(weights) != 1 or any(not name.endswith((".safetensors", ".json")) for name in names):
        raise Invalid(
            f"A classifier is one .safetensors file with JSON beside it; this upload has {', '.join(names)[:200]}.",
            field="upload",
        )
    if weights[0].size > LARGEST_CLASSIFIER:
        raise Invalid(
            f"{weights[0].path} has {weights[0].size} bytes; a classifier's may have {LARGEST_CLASSIFIER}.",
            field="upload",
        )
    checkpoints.safetensors_header(FileReader(weights[0], upload.team_id), weights[0].path)
    card = cards.of_upload(upload)
    classifier = Classifier.objects.create(
        team=by.home, created_by=by.user, name=name, pair=pair, upload=upload, card=card, metrics=cards.metrics_of(card)
    )
    audit.record(by, "added", classifier)
    return classifier


def classifier_file(*, classifier: Classifier, name: str) -> bytes:
    """One of its files, as it came: weights or card."""
    for file in classifier.upload.files.all():
        if file.name == name:
            return whole(file, classifier.upload.team_id, longest=LARGEST_CLASSIFIER)
    raise NotFound(f"{classifier.name} has no file {name[:80]!r}.")


@transaction.atomic
def train_classifier(
    *,
    name: str,
    pair: Pair,
    dataset: Dataset,
    by: Actor,
    queue: Queue = Queue.CPU,
    **how: Any,
) -> Training:
    """Queue it. The prompts' splits say what they are for; those of a set that has none are dealt out. `how` tokens are
    chosen: the fields of Sampling. Under ratio dice it learns from chances of being accepted, not from yes and no."""
    by.require(Right.SUBMIT)
    try:
        sampling = Sampling(**how)
    except BadSampling as error:
        raise Invalid(str(error), field=str(error).split()[0], code=error.code) from None
    job = jobs.enqueue(kind=Kind.TRAINING, queue=queue, title=f"Train {name}", by=by)
    training = Training.objects.create(job=job, pair=pair, dataset=dataset, name=name, sampling=sampling.to_dict())
    freeze(pair, pair.target, pair.draft, dataset)
    audit.record(by, "launched", job)
    return training


def finish_training(*, job: Job, files: Iterable[tuple[str, bytes]]) -> None:
    """The worker has made the classifier: it is there and its job is done in one transaction, so never twice."""
    training = Training.objects.select_related("pair").get(job=job)
    if job.created_by is None:
        raise Conflict("Whoever asked for this classifier is gone, so it would belong to nobody.")
    by = Actor(job.created_by, job.team, Right.SUBMIT)
    upload = uploads.keep(team=job.team, name=training.name, files=files, by=by)
    with transaction.atomic():
        jobs.require_lease(job)
        training.classifier = add_classifier(name=training.name, pair=training.pair, upload=upload, by=by)
        training.save(update_fields=["classifier"])
        jobs.succeed(job=job)


# All of them ---------------------------------------------------------------------------------------------------------


@transaction.atomic
def rename(*, entry: Entry, name: str, by: Actor) -> None:
    by.require(Right.SUBMIT)
    if not type(entry).objects.filter(pk=entry.pk, frozen=None).update(name=name):
        raise Conflict(
            f"A comparison points at {entry.name}, so it stays as it is.",
            code="in-use",
            hint="Add it again under the other name.",
        )
    audit.record(by, "renamed", entry, to=name)
    entry.name = name


@transaction.atomic
def bin(*, entry: Entry, by: Actor) -> None:
    """Out of sight, and back with one click. What points at it goes on working."""
    by.require(Right.SUBMIT)
    if not type(entry).objects.filter(pk=entry.pk, binned=None).update(binned=timezone.now()):
        raise Conflict(f"{entry.name} is in the bin already.")
    audit.record(by, "binned", entry)


@transaction.atomic
def restore(*, entry: Entry, by: Actor) -> None:
    by.require(Right.SUBMIT)
    if not type(entry).objects.filter(pk=entry.pk, binned__isnull=False).update(binned=None):
        raise Conflict(f"{entry.name} is not in the bin.")
    audit.record(by, "restored", entry)
    entry.binned = None


@transaction.atomic
def freeze(*entries: Entry) -> None:
    """A comparison points at them from now on."""
    for entry in entries:
        type(entry).objects.filter(pk=entry.pk, frozen=None).update(frozen=timezone.now())


def _require_complete(upload: Upload) -> None:
    match upload.state:
        case Upload.State.OPEN:
            hint = "Send what is missing, then complete it."
            raise Conflict("The upload is not complete.", code="upload-is-open", hint=hint)
        case Upload.State.UNPACKING:
            raise Conflict("The upload is still being unpacked.", code="upload-is-unpacking", hint="Wait a little.")
        case Upload.State.REFUSED:
            raise Conflict(f"The upload was refused: {upload.reason}", code="upload-is-refused")


def _as_json(facts: Facts) -> dict[str, Any]:
    return {**dataclasses.asdict(facts), "dtypes": list(facts.dtypes)}


def _count(words: Iterable[str]) -> dict[str, int]:
    return dict(Counter(words).most_common(50))
