"""What schemathesis is told by `./drafthouse bench fuzz`: who it is, which ids are real, and how refusals must read."""

from __future__ import annotations

import itertools
import json
import os
import secrets
from typing import Any

import django
import schemathesis
from schemathesis.generation.meta import TestPhase as Phase

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
django.setup()

from benchmarks._sessions import session_of  # noqa: E402  the settings come first
from webapp.accounts import actor as actors  # noqa: E402
from webapp.accounts import services as accounts  # noqa: E402
from webapp.accounts.models import (  # noqa: E402
    ApiToken,
    AuditEntry,
    Invitation,
    Membership,
    Role,
    Scope,
    Team,
    User,
)  # fmt: skip
from webapp.comparisons.models import Comparison, Conditions, Run, Sample, SavedView  # noqa: E402
from webapp.jobs.models import Job  # noqa: E402
from webapp.registry.models import Classifier, Dataset, LanguageModel, Pair  # noqa: E402
from webapp.sharing.models import Share  # noqa: E402
from webapp.studies.models import Study  # noqa: E402
from webapp.uploads.models import Upload  # noqa: E402

CSRF = "c" * 32
BODIES = {"pair": Pair, "dataset": Dataset, "target": LanguageModel, "draft": LanguageModel, "upload": Upload}
PATHS = {
    "audit": AuditEntry, "classifiers": Classifier, "comparisons": Comparison, "conditions": Conditions,
    "datasets": Dataset, "invitations": Invitation, "jobs": Job, "members": Membership, "models": LanguageModel,
    "pairs": Pair, "runs": Run, "samples": Sample, "shares": Share, "studies": Study, "teams": Team,
    "tokens": ApiToken, "uploads": Upload, "users": User, "views": SavedView,
}  # fmt: skip
STAY_S = 20
_turn = itertools.count()


@schemathesis.auth(refresh_interval=STAY_S)
class FreshOwner:
    """Somebody else every while: who may do anything also takes away their own rights. Token and session in turn."""

    def get(self, case: schemathesis.Case, context: Any) -> tuple[dict[str, str], dict[str, str]]:
        """Headers and cookies."""
        name = f"owner{secrets.token_hex(6)}"
        user = User.objects.create(username=name, password="!", is_operator=True)
        Membership.objects.create(team=Team.objects.earliest("created"), user=user, role=Role.OWNER)
        if next(_turn) % 2:
            return {"X-CSRFToken": CSRF}, {"dh_session": session_of(user), "dh_csrf": CSRF}
        token = accounts.create_token(name="fuzz", scope=Scope.ADMIN, days=1, by=actors.of_user(user))[1]
        return {"Authorization": f"Bearer {token}"}, {}

    def set(self, case: schemathesis.Case, data: tuple[dict[str, str], dict[str, str]], context: Any) -> None:
        headers, cookies = data
        case.headers.update(headers)
        case.cookies.update(cookies)


@schemathesis.hook
def before_call(context: Any, case: schemathesis.Case, kwargs: dict[str, Any]) -> None:
    """Where a request fits the schema, it speaks of things that are there; random ids would be all that is ever tried.
    What follows a link does so already."""
    if case.meta is None or not case.meta.generation.mode.is_positive or case.meta.phase.name is Phase.STATEFUL:
        return
    if "id" in case.path_parameters:
        case.path_parameters["id"] = _some(PATHS[case.path.split("/")[3]]) or case.path_parameters["id"]
    if isinstance(case.body, dict):
        real = {name: found for name in BODIES.keys() & case.body.keys() if (found := _some(BODIES[name]))}
        # Whole numbers are drawn as 1.0 too, which is no integer when the changed body is looked at again.
        case.body = json.loads(json.dumps({**case.body, **real}), parse_float=_number)


def _some(kind: Any) -> str | None:
    found = kind.objects.order_by("?").values_list("pk", flat=True).first()
    return str(found) if found else None


def _number(digits: str) -> float:
    number = float(digits)
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


@schemathesis.check
def refusals_are_sentences(context: Any, response: Any, case: schemathesis.Case) -> None:
    if 400 <= response.status_code < 500 and case.method != "HEAD":
        problem = response.json()
        assert problem["code"] and problem["detail"].endswith((".", "?")), problem
