"""The start page, the API's schema, and the page that tells an operator whether all is well."""

from __future__ import annotations

import functools
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.config import status
from webapp.core.pages import page


@page(Right.NONE)
def home(request: ActorRequest) -> HttpResponse:
    return redirect("comparisons" if request.actor.team else "new-team")


@page(Right.NONE)
def system(request: ActorRequest) -> HttpResponse:
    """Show the installation's state. Only its operator may see it, no team's owner: it covers all teams."""
    request.actor.require_operator()
    return render(request, "config/system.html", {"system": status.system()})


class SystemView(APIView):
    needs = {"": Right.NONE}
    for_operator = True

    @extend_schema(responses=status.SystemOut)
    def get(self, request: Request) -> Response:
        """Versions, migrations, workers, queue, disk, broker and configuration, without secrets; for the operator."""
        return Response(status.SystemOut(status.system()).data)


class SchemaView(SpectacularAPIView):
    """The OpenAPI schema, the same for everybody, and made only once: it changes with the program alone."""

    @extend_schema(exclude=True)
    def get(self, request: Request) -> HttpResponse:
        kind: Any = type(request.accepted_renderer)
        return HttpResponse(_schema(kind), content_type=kind.media_type)


@functools.cache
def _schema(renderer: Any) -> bytes:
    made = SchemaView.generator_class().get_schema(public=SchemaView.serve_public)
    return bytes(renderer().render(made, renderer_context={}))
