"""What schemathesis is told by `./drafthouse bench fuzz`: who it is, which ids are real, and how refusals must read."""

from __future__ import annotations

import itertools
import os
from typing import Any

import django
import schemathesis

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.config.settings")
django.setup()

from benchmarks._sessions import session_of  # noqa: E402  the settings come first
from tests.webapp.plausible import make_plausible, newcomer, token_of  # noqa: E402

CSRF = "c" * 32
STAY_S = 20
_turn = itertools.count()


@schemathesis.auth(refresh_interval=STAY_S)
class Newcomer:
    """Somebody else every while, with a token and with a session in turn."""

    def get(self, case: schemathesis.Case, context: Any) -> tuple[dict[str, str], dict[str, str]]:
        """Headers and cookies."""
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


@schemathesis.check
def refusals_are_sentences(context: Any, response: Any, case: schemathesis.Case) -> None:
    if 400 <= response.status_code < 500 and case.method != "HEAD":
        problem = response.json()
        assert problem["code"] and problem["detail"].endswith((".", "?")), problem
