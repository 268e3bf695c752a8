"""Register models and pairs, and change any entry: rename, bin, restore, freeze."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.problems import Conflict, Invalid
from webapp.jobs import services as jobs
from webapp.jobs.models import Kind, Queue
from webapp.registry import checkpoints, pairing
from webapp.registry.checkpoints import Facts
from webapp.registry.models import Entry, LanguageModel, Pair, Readiness
from webapp.uploads import services as uploads
from webapp.uploads.models import Upload

# Models ---------------------------------------------------------------------------------------------------------------


@transaction.atomic
def add_uploaded_model(*, name: str, upload: Upload, by: Actor) -> LanguageModel:
    """Register a model from an upload. Its files are checked at once; a worker then loads the tokenizer and says
    whether the model can run."""
    by.require(Right.SUBMIT)
    uploads.require_complete(upload)
    facts = checkpoints.examine(upload.files.all(), upload.team_id)
    return _add_model(
        by, Kind.CHECK_MODEL, name=name, source=LanguageModel.Source.UPLOAD, upload=upload, facts=_as_json(facts)
    )


@transaction.atomic
def add_hub_model(*, name: str, hub_id: str, revision: str, by: Actor) -> LanguageModel:
    """Register a model of the hub. A worker fetches it; nothing is fetched here."""
    by.require(Right.SUBMIT)
    return _add_model(
        by, Kind.FETCH_MODEL, name=name, source=LanguageModel.Source.HUB, location=hub_id, revision=revision
    )


@transaction.atomic
def add_path_model(*, name: str, path: str, by: Actor) -> LanguageModel:
    """Register a folder on the worker, below one of those that the operator allows."""
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
    job = jobs.enqueue(kind=kind, queue=Queue.LIGHT, title=title, by=by)
    model = LanguageModel.objects.create(team=by.home, created_by=by.user, job=job, **columns)
    audit.record(by, "added", model)
    return model


@transaction.atomic
def model_is_ready(*, model: LanguageModel, facts: Mapping[str, Any]) -> None:
    """Mark a model as ready: a worker has loaded its tokenizer and found it sound."""
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


def _as_json(facts: Facts) -> dict[str, Any]:
    return {**dataclasses.asdict(facts), "dtypes": list(facts.dtypes)}


# Pairs ----------------------------------------------------------------------------------------------------------------


def check_pair(*, target: LanguageModel, draft: LanguageModel) -> list[dict[str, str]]:
    return pairing.findings(target, draft)


@transaction.atomic
def add_pair(*, name: str, target: LanguageModel, draft: LanguageModel, by: Actor) -> Pair:
    by.require(Right.SUBMIT)
    found = check_pair(target=target, draft=draft)
    pair = Pair.objects.create(team=by.home, created_by=by.user, name=name, target=target, draft=draft, findings=found)
    audit.record(by, "added", pair)
    return pair


# All entries ----------------------------------------------------------------------------------------------------------


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
    """Move an entry to the bin. Users of it go on working, and one click restores it."""
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
    """Freeze entries, because a comparison uses them from now on."""
    for entry in entries:
        type(entry).objects.filter(pk=entry.pk, frozen=None).update(frozen=timezone.now())
