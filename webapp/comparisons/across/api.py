"""Runs of all comparisons over REST: the table, its CSV, the Pareto line, a pair's history, saved views."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from webapp.accounts.standing import reading
from webapp.comparisons.across import charts, filters, history, saved, serializers
from webapp.comparisons.across.columns import COSTS, ORDERS
from webapp.comparisons.across.export import as_csv
from webapp.comparisons.models import Conditions, Run, SavedView
from webapp.core.api import Act, Nouns, once
from webapp.core.downloads import Download
from webapp.core.problems import Invalid
from webapp.core.rest import StrictFilters, StrictOrdering
from webapp.entries.api import Binned
from webapp.registry.models import Pair

ASKED = tuple(filters.RunFilter.base_filters)
BY = OpenApiParameter("cost", str, enum=list(COSTS), description="what drafting costs, as the line's other axis")


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
    query_names = (*ASKED, "cost", "ordering")

    def get_queryset(self) -> Any:
        rows = super().get_queryset()
        return rows if getattr(self, "swagger_fake_view", False) else filters.runs(self.actor)

    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR}, filters=True)
    def table(self, request: Request) -> StreamingHttpResponse:
        """Download every column of the runs that the same query lists, as CSV."""
        rows: Any = self.filter_queryset(self.get_queryset())
        return Download(as_csv(rows), "runs.csv", reading(request))

    @extend_schema(responses=serializers.LineOut, filters=True, parameters=[BY])
    def line(self, request: Request) -> Response:
        """Show speed-up against the cost of drafting, and the Pareto line: the runs that no other beats in both."""
        cost = request.query_params.get("cost", next(iter(COSTS)))
        if cost not in COSTS:
            raise Invalid(f"cost is {cost[:40]!r}; it can be {' or '.join(COSTS)}.", field="cost")
        rows: Any = self.filter_queryset(self.get_queryset())
        known = Conditions.objects.visible_to(self.actor).select_related("pair", "dataset")
        is_filtered = any(name in request.query_params for name in ASKED)
        found = charts.groups(charts.counted(rows) if is_filtered else charts.counted_all(self.actor), known)
        shown: dict[str, Any] = {"axes": [], "runs": []}
        if found:
            noisy_too = request.query_params.get("noisy") == "true"
            shown = charts.drawn(rows, found[0].conditions.pk, cost, noisy_too)
        sentence = charts.in_words(shown) if found else "No run has figures yet."
        return Response(serializers.LineOut({"groups": found, "sentence": sentence, **shown}).data)


class ConditionsApi(Nouns):
    """The conditions that runs must share to be compared fairly."""

    queryset = Conditions.objects.select_related("pair", "dataset")
    serializer_class = serializers.ConditionsOut


class Histories(Nouns):
    queryset = Pair.objects.all()
    serializer_class = serializers.HistoryOut
    query_names = ("question",)

    @extend_schema(
        responses=serializers.HistoryOut,
        parameters=[OpenApiParameter("question", str, description="a digest; without it, the most often asked")],
    )
    def history(self, request: Request, pk: UUID) -> Response:
        """Show the speed-up of each strategy on the same prompts and sampling, comparison by comparison."""
        rows = filters.runs(self.actor).filter(comparison__pair=self.get_object())
        asked = history.questions(rows)
        chosen = request.query_params.get("question") or (asked[0].digest if asked else "")
        shown = history.history(rows, chosen)
        return Response(serializers.HistoryOut({"questions": asked, "sentence": history.in_words(shown), **shown}).data)


class SavedViews(Binned):
    queryset = SavedView.objects.all()
    serializer_class = serializers.ViewOut

    @extend_schema(request=serializers.NewView, responses={201: serializers.ViewOut})
    @once
    def create(self, request: Request) -> Act:
        """Save a view of the runs. If the name exists already, that view is replaced."""
        asked = self.read(serializers.NewView)
        return lambda: self.shown(saved.save(by=self.actor, **asked), 201)

    @extend_schema(request=serializers.ViewChanges)
    def partial_update(self, request: Request, pk: UUID) -> Response:
        view = self.get_object()
        saved.change(view=view, by=self.actor, **self.read(serializers.ViewChanges))
        return self.shown(view)

    def bring_back(self, entry: SavedView) -> None:
        saved.restore(view=entry, by=self.actor)
