"""Studies over REST."""

from __future__ import annotations

import mimetypes
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.http import content_disposition_header
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.entries.api import Binned, EntryFilter
from webapp.jobs.models import JobState
from webapp.studies import serializers, services, views
from webapp.studies.kinds import KINDS
from webapp.studies.models import Study

WHOLE = ("document", "figures", "figure", "file")  # actions that read what a study found


class StudyFilter(EntryFilter):
    kind = filters.ChoiceFilter(field_name="job__kind", choices=[(kind.slug, kind.label) for kind in KINDS.values()])
    state = filters.ChoiceFilter(field_name="job__state", choices=JobState.choices)
    pair = filters.UUIDFilter(field_name="pair_id")
    dataset = filters.UUIDFilter(field_name="dataset_id")


class Studies(Binned):
    queryset = Study.objects.select_related("pair", "dataset", "job", "job__created_by")
    filterset_class = StudyFilter

    def get_queryset(self) -> Any:
        rows = super().get_queryset()
        return rows if self.action in WHOLE else rows.defer("document", "parts")

    def get_serializer_class(self) -> Any:
        return serializers.StudyRow if self.action == "list" else serializers.StudyOut

    @extend_schema(request=serializers.NewStudy, responses={202: serializers.StudyOut})
    def create(self, request: Request) -> Response:
        """Queue a study. `/jobs/{job}/news/` reports its progress, `document` its result."""
        return self.shown(services.launch(by=self.actor, **self.read(serializers.NewStudy)), 202)

    @extend_schema(responses={(200, "text/html"): OpenApiTypes.STR})
    def file(self, request: Request, pk: UUID) -> HttpResponse:
        """Download the page of a study as one HTML file that makes no request."""
        return views.as_file(self.get_object(), self.actor)

    @extend_schema(responses=serializers.DocumentOut)
    def document(self, request: Request, pk: UUID) -> Response:
        """Download the study's result as a file."""
        study = self.get_object()
        answer = Response(services.document_of(study))
        answer["Content-Disposition"] = f'attachment; filename="{study.kind}-{study.pk}.json"'
        return answer

    @extend_schema(responses=serializers.FigureOut(many=True))
    def figures(self, request: Request, pk: UUID) -> Response:
        """Figures of the papers with all points, also of a study that still draws others."""
        figures = services.figures_of(self.get_object())
        return Response({"count": len(figures), "next": None, "previous": None, "results": figures})

    @extend_schema(
        responses={(200, "application/octet-stream"): OpenApiTypes.BINARY},
        parameters=[OpenApiParameter("name", {"type": "string", "maxLength": 100}, OpenApiParameter.PATH)],
    )
    def figure(self, request: Request, pk: UUID, name: str) -> HttpResponse:
        """Download a figure as CSV, `ssd-3.csv`, or as a matplotlib script that draws it, `ssd-3.py`."""
        content = services.figure_file(self.get_object(), name)
        response = HttpResponse(content, content_type=mimetypes.guess_type(name)[0])
        response["Content-Disposition"] = content_disposition_header(True, name)
        return response
