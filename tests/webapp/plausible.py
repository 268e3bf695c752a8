"""Requests as a stranger sends them who has looked around first: signed in, with ids of things that are there, and
with the one chunk of a file. What does not fit the schema stays as it is."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID

import schemathesis

from webapp.accounts import actor as actors
from webapp.accounts import services as accounts
from webapp.accounts.models import (
    ApiToken,
    AuditEntry,
    Invitation,
    Membership,
    Role,
    Scope,
    Team,
    User,
)
from webapp.comparisons.models import Comparison, Conditions, Run, Sample, SavedView
from webapp.jobs.models import Job
from webapp.registry.models import Classifier, Dataset, LanguageModel, Pair
from webapp.sharing.models import Share
from webapp.studies.models import Study
from webapp.uploads.models import Upload

CONTENT = b'{"text": "once upon a time"}\n'
CHUNK = hashlib.sha256(CONTENT).hexdigest()
BODIES = {"pair": Pair, "dataset": Dataset, "target": LanguageModel, "draft": LanguageModel, "upload": Upload}
PATHS = {
    "audit": AuditEntry, "classifiers": Classifier, "comparisons": Comparison, "conditions": Conditions,
    "datasets": Dataset, "invitations": Invitation, "jobs": Job, "members": Membership, "models": LanguageModel,
    "pairs": Pair, "runs": Run, "samples": Sample, "shares": Share, "studies": Study, "teams": Team,
    "tokens": ApiToken, "uploads": Upload, "users": User, "views": SavedView,
}  # fmt: skip


def newcomer() -> User:
    """Somebody else every time: who may do anything also takes away their own rights."""
    user = User.objects.create(username=f"owner{User.objects.count()}", password="!", is_operator=True)
    Membership.objects.create(team=Team.objects.earliest("created"), user=user, role=Role.OWNER)
    return user


def token_of(user: User) -> dict[str, str]:
    """The header that says who they are."""
    token = accounts.create_token(name="fuzz", scope=Scope.ADMIN, days=1, by=actors.of_user(user))[1]
    return {"Authorization": f"Bearer {token}"}


def make_plausible(case: schemathesis.Case) -> None:
    """Random ids would be all that is ever tried. One that came along a link, and names something, stays."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if "id" in case.path_parameters:
        case.path_parameters["id"] = _real(PATHS[case.path.split("/")[3]], case.path_parameters["id"])
    if case.path_parameters.get("sha256") == CHUNK and case.method == "PUT":
        case.body = CONTENT
    if isinstance(case.body, dict):
        real = {name: _real(BODIES[name], case.body[name]) for name in BODIES.keys() & case.body.keys()}
        # Whole numbers are drawn as 1.0 too, which is no integer when the changed body is looked at again.
        case.body = json.loads(json.dumps({**case.body, **real}), parse_float=_number)
        for file in case.body.get("files", ()):
            file |= {"size": len(CONTENT), "chunks": [CHUNK]}


def _real(kind: Any, given: Any) -> Any:
    """The one that is meant, or else one of those that are there: the same one if all is done again."""
    try:
        wanted = UUID(given)
    except (ValueError, TypeError, AttributeError):
        return given
    there = kind.objects.order_by("created", "pk")
    if there.filter(pk=wanted).exists() or not (count := there.count()):
        return given
    return str(there[wanted.int % count].pk)


def _number(digits: str) -> float:
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number
