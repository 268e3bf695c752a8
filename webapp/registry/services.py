"""Register models and pairs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings
from django.db import transaction

from webapp.accounts import audit
from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.core.hub import MAIN, HubModel
from webapp.core.problems import Invalid
from webapp.jobs import services as jobs
from webapp.registry import checkpoints, pairing
from webapp.registry.kinds import CHECK_MODEL, FETCH_MODEL
from webapp.registry.models import LanguageModel, Pair, Readiness
from webapp.uploads import services as uploads
from webapp.uploads.models import Upload

# Models ---------------------------------------------------------------------------------------------------------------


def add_model(
    *, name: str, by: Actor, upload: Upload | None = None, hub_id: str = "", revision: str = MAIN, path: str = ""
) -> LanguageModel:
    """Register uploaded files after a look at them, a model of the hub, or a folder of the worker. A worker fetches it
    if need be, loads the tokenizer and tells whether it can run."""
    by.require(Right.SUBMIT)
    kind, origin, columns = CHECK_MODEL, LanguageModel.Origin, dict[str, Any]()
    if upload:
        uploads.require_complete(upload)
        columns = {"source": origin.UPLOAD, "upload": upload, "facts": checkpoints.examine(upload)}
    elif hub_id:
        kind, columns = FETCH_MODEL, {"source": origin.HUB, "location": hub_id, "revision": revision}
    else:
        _require_allowed(path)
        columns = {"source": origin.PATH, "location": str(PurePosixPath(path))}
    with transaction.atomic():
        job = jobs.enqueue(kind=kind, title=f"{kind.label.removesuffix(' model')} {name}", by=by)
        model = LanguageModel.objects.create(team=by.home, created_by=by.user, job=job, name=name, **columns)
        audit.record(by, "added", model)
    return model


def _require_allowed(path: str) -> None:
    if not may_be_opened(path):
        roots = " or ".join(map(str, settings.MODEL_ROOTS))
        allowed = f"allows folders below {roots}" if roots else "allows no folder of a worker (DRAFTHOUSE_MODEL_ROOTS)"
        raise Invalid(
            f"The path {path[:80]!r} cannot be used: the operator {allowed}.",
            field="path",
            hint="Choose another folder, or upload the model.",
        )


def may_be_opened(path: str) -> bool:
    """Tell whether the operator allows models in this folder of a worker."""
    pure = PurePosixPath(path)
    roots = map(PurePosixPath, settings.MODEL_ROOTS)
    return ".." not in pure.parts and any(pure.is_relative_to(root) and pure != root for root in roots)


def model_was_checked(
    *, model: LanguageModel, state: Readiness, reason: str = "", facts: Mapping[str, Any] | None = None
) -> None:
    """Store what a worker found: the facts of a ready model, or the reason why it is refused, or still unchecked."""
    model.state, model.reason, model.facts = state, reason, {**model.facts, **(facts or {})}
    model.save(update_fields=["state", "reason", "facts"])


# Pairs ----------------------------------------------------------------------------------------------------------------


def add_pair(
    *,
    name: str,
    target: LanguageModel | HubModel,
    draft: LanguageModel | HubModel | None = None,
    by: Actor,
    other_tokenizer: str = "auto",
) -> Pair:
    """Register a pair, after a look at its models. Without a draft it is a target alone. An id of the hub stands for
    the team's model of that id, which is added if there is none."""
    by.require(Right.SUBMIT)
    found = pairing.findings(target, draft)
    with transaction.atomic():
        pair = Pair.objects.create(
            team=by.home,
            created_by=by.user,
            name=name,
            target=_registered(target, by),
            draft=_registered(draft, by) if draft else None,
            other_tokenizer=other_tokenizer,
            findings=found,
        )
        audit.record(by, "added", pair)
    return pair


def _registered(model: LanguageModel | HubModel, by: Actor) -> LanguageModel:
    if isinstance(model, LanguageModel):
        return model
    asked = {"location": model.hub_id, "revision": model.revision or MAIN}
    there = LanguageModel.objects.visible_to(by).kept().filter(source=LanguageModel.Origin.HUB, **asked)
    found: LanguageModel | None = there.exclude(state=Readiness.REFUSED).order_by("created").first()
    return found or add_model(name=model.hub_id, hub_id=model.hub_id, revision=asked["revision"], by=by)
