"""Requests of a stranger who has looked around first: signed in, with ids of existing things and chunks of files that
are worth sending. A value that does not fit the schema stays as it is."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID

from schemathesis.generation.meta import TestPhase

from tests.kit import make
from webapp.accounts import actor as actors
from webapp.accounts import services as accounts
from webapp.accounts.models import ApiToken, AuditEntry, Invitation, Membership, Role, Scope, Team, User
from webapp.comparisons.models import Comparison, Run, Sample
from webapp.jobs.models import Job
from webapp.registry.models import Dataset, Endpoint, LanguageModel, Pair
from webapp.sharing.models import Share
from webapp.studies.models import Classifier, Study
from webapp.uploads.models import Upload

PROMPTS = {"prompts.jsonl": b'{"text": "once upon a time"}\n'}
MODEL = make.checkpoint(layers=1)
CHUNKS = {hashlib.sha256(content).hexdigest(): content for content in (*PROMPTS.values(), *MODEL.values())}
BODIES = {"pair": Pair, "dataset": Dataset, "target": LanguageModel, "draft": LanguageModel, "upload": Upload}
PATHS = {
    "audit": AuditEntry, "classifiers": Classifier, "comparisons": Comparison,
    "datasets": Dataset, "endpoints": Endpoint, "invitations": Invitation, "jobs": Job,
    "members": Membership, "models": LanguageModel,
    "pairs": Pair, "runs": Run, "samples": Sample, "shares": Share, "studies": Study, "teams": Team,
    "tokens": ApiToken, "uploads": Upload, "users": User,
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


def make_plausible(case: Any) -> None:
    """Random ids would be all that is ever tried. One that came along a link, and names something, stays."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    if "id" in case.path_parameters:
        case.path_parameters["id"] = _real(PATHS[case.path.split("/")[3]], case.path_parameters["id"])
    if case.method == "PUT" and (content := CHUNKS.get(case.path_parameters.get("sha256", ""))):
        case.body = content
    if isinstance(case.body, dict):
        real = {name: _real(BODIES[name], case.body[name]) for name in BODIES.keys() & case.body.keys()}
        # Whole numbers are drawn as 1.0 too, which is no integer when the changed body is looked at again.
        case.body = json.loads(json.dumps({**case.body, **real}), parse_float=_number)
        if case.meta.phase.name == TestPhase.STATEFUL:
            case.body = _meant(case.path, case.body)
        if case.body.get("files"):  # a manifest: of a prompt file or of a model's folder, as the name will have it
            sent = PROMPTS if len(str(case.body.get("name")).encode()) % 2 else MODEL
            case.body["files"] = [
                {"path": path, "size": len(content), "chunks": [hashlib.sha256(content).hexdigest()]}
                for path, content in sent.items()
            ]


def _meant(path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Adjust a body in ways that a schema cannot say, so that sequences come further: a sequence ends where it is
    refused."""
    if "name" in body:
        body["name"] = "".join(filter(str.isprintable, body["name"])).strip() or "x"
    if path.endswith("/models/"):
        made_of = next((name for name in ("upload", "hub_id") if name in body), "path")
        body = {name: value for name, value in body.items() if name in ("name", made_of)}
    if path.endswith("/datasets/"):
        source = {"upload": body["upload"]} if "upload" in body else {"text": "once\nupon a time\n"}
        body = {"name": body.get("name", "x")} | source
    if path.endswith("/comparisons/"):
        named = {choice["strategy"]: None for choice in body["strategies"] if isinstance(choice, dict)}
        body["strategies"] = [{"strategy": name} for name in named if "disco" not in name] or [{"strategy": "static"}]
    return {name: value for name, value in body.items() if name != "split"}


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
