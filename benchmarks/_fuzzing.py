"""Hooks for schemathesis in `./drafthouse bench fuzz`: its user, the ids that exist, and how refusals must read."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import django
import schemathesis
from schemathesis.engine.run import PhaseName

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
django.setup()

from benchmarks._sessions import session_of  # noqa: E402  the settings come first
from benchmarks.fuzz import DEPTHS  # noqa: E402
from tests.kit.plausible import make_plausible, newcomer, token_of  # noqa: E402

CSRF = "c" * 32
STAY_S = 20
PATIENCE_S = 1
_turn = itertools.count()


@schemathesis.auth(refresh_interval=STAY_S)
class Newcomer:
    """Authentication as a new user every few requests, with a token and a session in turn."""

    def get(self, case: schemathesis.Case, context: Any) -> tuple[dict[str, str], dict[str, str]]:
        """Return headers and cookies."""
        user = newcomer()
        if next(_turn) % 2:
            return {"X-CSRFToken": CSRF}, {"dh_session": session_of(user), "dh_csrf": CSRF}
        return token_of(user), {}

    def set(self, case: schemathesis.Case, data: tuple[dict[str, str], dict[str, str]], context: Any) -> None:
        headers, cookies = data
        case.headers.update(headers)
        case.cookies.update(cookies)


@schemathesis.hook
def before_call(context: Any, case: schemathesis.Case, kwargs: dict[str, Any]) -> None:
    make_plausible(case)
    if isinstance(wait := (case.query or {}).get("wait"), int) and wait > PATIENCE_S:
        case.query["wait"] = PATIENCE_S  # long enough for jobs that no worker takes


@schemathesis.check
def refusals_are_sentences(context: Any, response: Any, case: schemathesis.Case) -> None:
    if 400 <= response.status_code < 500 and case.method != "HEAD":
        problem = response.json()
        assert problem["code"] and problem["detail"].endswith((".", "?")), problem


@schemathesis.check
def sequences_are_counted(context: Any, response: Any, case: schemathesis.Case) -> None:
    """Count every answer by its depth in a sequence. Checks nothing."""
    sent = context.internals.recorder
    if context.phase != PhaseName.STATEFUL_TESTING or not _is_success(response):
        return
    depth, before = 1, sent.find_parent(case_id=case.id)
    while before is not None and _is_success(sent.find_response(case_id=before.id)):
        depth, before = depth + 1, sent.find_parent(case_id=before.id)
    with Path(os.environ[DEPTHS]).open("a") as file:
        file.write(f"{depth}\n")


def _is_success(response: Any) -> bool:
    return response is not None and response.status_code < 300
