"""The front door, and how an operator asks whether all is well."""

from __future__ import annotations

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render

from webapp.accounts.rights import Right
from webapp.core.pages import page


@page(Right.NONE)
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "core/home.html") if request.actor.team else redirect("new-team")


def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers. Nothing else is asked, so that a slow database does not get it killed."""
    return HttpResponse("ok\n", content_type="text/plain")


def readyz(request: HttpRequest) -> HttpResponse:
    """Whether requests can be served: the database answers and its tables are those of this version."""
    try:
        executor = MigrationExecutor(connection)
        missing = len(executor.migration_plan(executor.loader.graph.leaf_nodes()))
    except Exception as error:  # whatever a database driver raises, the answer is "not ready"
        return JsonResponse(
            {"ready": False, "reason": f"The database does not answer ({type(error).__name__})."}, status=503
        )
    if missing:
        return JsonResponse({"ready": False, "reason": f"{missing} migrations are not applied."}, status=503)
    return JsonResponse({"ready": True})
