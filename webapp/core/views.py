"""Error answers: pages for people, problems for programs."""

from __future__ import annotations

import sys
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import DisallowedHost
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from redis.exceptions import RedisError

from webapp.core import damage, disk
from webapp.core.middleware import current_request_id
from webapp.core.problems import Problem
from webapp.core.refusals import problem_json


def refused(request: HttpRequest, status: int, code: str, detail: str, hint: str = "") -> HttpResponse:
    if request.path.startswith("/api/"):
        return problem_json(status, code, detail, hint)
    context = {"status": status, "detail": detail, "hint": hint, "reference": current_request_id.get()}
    return render(request, "core/refused.html", context, status=status)


def of_problem(request: HttpRequest, problem: Problem) -> HttpResponse:
    response = refused(request, problem.status, problem.code, problem.detail, problem.hint)
    for name, value in problem.headers.items():
        response[name] = value
    return response


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    detail = "There is no page at this address, or you may not see it."
    return refused(request, 404, "not-found", detail, "Check the address.")


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    if isinstance(exception, DisallowedHost):
        detail = "The host in the address of this request is not one that Drafthouse answers for."
        hint = "Use another address, or have the operator allow this one."
        return refused(request, 400, "unknown-host", detail, hint)
    return refused(request, 400, "bad-request", "This request cannot be read.")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refused(request, 403, "forbidden", "This is not allowed.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    hint = "Open the page again and repeat; cookies must be allowed."
    return refused(request, 403, "csrf", "The request did not come from a Drafthouse page.", hint)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an error that no view foresaw. A full disk, and a database or broker that is away, are named."""
    match sys.exc_info()[1]:
        case error if disk.is_disk_full(error):
            return _unasked(request, 507, "disk-full", disk.SENTENCE, disk.HINT)
        case error if damage.is_damaged(error):
            detail = "The database is damaged, so nothing can be shown or kept."
            return _unasked(request, 503, "damaged", detail, "Tell the operator to restore the last backup.")
        case OperationalError() | InterfaceError():
            return _away(request, "database")
        case RedisError():
            return _away(request, "broker")
    detail = "Drafthouse failed to answer. The server's log has the reason."
    hint = "Try again. If it fails again, tell the operator the reference below."
    return refused(request, 500, "server-error", detail, hint)


def _away(request: HttpRequest, what: str) -> HttpResponse:
    detail = f"The {what} does not answer just now, so this could not be done."
    response = _unasked(request, 503, "away", detail, "Try again in a moment; jobs that run go on meanwhile.")
    response["Retry-After"] = "2"
    return response


def _unasked(request: HttpRequest, *refusal: Any) -> HttpResponse:
    """Refuse with a page that does not ask the database who reads it."""
    request.user = AnonymousUser()
    return refused(request, *refusal)
