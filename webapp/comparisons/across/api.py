"""Runs of all comparisons over REST: the table and its CSV."""

from __future__ import annotations

from typing import Any

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.accounts.standing import reading
from webapp.comparisons.across import filters, serializers
from webapp.comparisons.across.columns import ORDERS
from webapp.comparisons.across.rows import read, table
from webapp.comparisons.models import Run
from webapp.core.api import Nouns
from webapp.core.downloads import Download, as_csv
from webapp.core.rest import StrictFilters, StrictOrdering


class InOrder(StrictOrdering):
    def filter_queryset(self, request: Request, queryset: Any, view: Any) -> Any:
        asked = self.get_ordering(request, queryset, view) or [""]
        return filters.ordered(queryset, asked[0])


class Runs(Nouns):
    queryset = Run.objects.all()
    serializer_class = serializers.RunOut
    filterset_class = filters.RunFilter
    filter_backends = [StrictFilters, InOrder]
    ordering_fields = tuple(ORDERS)
    ordering = ()
    query_names = (*filters.RunFilter.base_filters, "ordering")

    def get_queryset(self) -> Any:
        rows = super().get_queryset()
        return rows if getattr(self, "swagger_fake_view", False) else filters.runs(self.actor)

    def get_object(self) -> Any:
        [row] = read([super().get_object().pk])
        return row

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        page = self.paginate_queryset(self.filter_queryset(self.get_queryset()).only("pk")) or ()
        rows = read([run.pk for run in page])
        return self.get_paginated_response(self.get_serializer(rows, many=True).data)

    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR}, filters=True)
    def table(self, request: Request) -> StreamingHttpResponse:
        """Download every column of the runs that the same query lists, as CSV."""
        rows: Any = self.filter_queryset(self.get_queryset())
        return Download(as_csv(table(rows)), "runs.csv", reading(request))
