"""Comparisons, runs, samples and traces over REST."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpResponse, StreamingHttpResponse
from django_filters import rest_framework as filters
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from decoding.public import STRATEGIES
from decoding.public import worst as losing
from webapp.accounts.standing import reading, who
from webapp.comparisons import page, plans, report, report_schema, rounds, serializers, services, trace, worst
from webapp.comparisons.across.filters import StrategyFilter
from webapp.comparisons.behind import TITLES, asked_bar
from webapp.comparisons.models import Comparison, Run, Sample, in_rows
from webapp.core.api import Nouns
from webapp.core.downloads import JSON_LINES, Download, as_csv
from webapp.core.holding import Waiting, answer
from webapp.core.problems import Invalid
from webapp.core.rest import AFTER, WAIT, Bound, number
from webapp.entries.api import Binned, EntryFilter
from webapp.jobs.models import JobState

EVENTS = Bound("limit", 1000, 1, 5000)
LINES = Bound("limit", losing.USUAL, 1, losing.MOST)
BASELINE = OpenApiParameter("baseline", str, description="label of the strategy to pin; autoregressive if not given")

OF_BAR = [
    OpenApiParameter("strategy", str, description="label; with `cause`, the rounds behind this bar alone"),
    OpenApiParameter("cause", str, enum=list(TITLES), description="the bar; `cause_ns` is what a round adds to it"),
]


class StrategiesView(APIView):
    @extend_schema(responses=serializers.StrategyOut(many=True))
    def get(self, request: Request) -> Response:
        """List the strategies with parameters and bounds, from which forms, command line and API are made."""
        return Response(serializers.StrategyOut(STRATEGIES.values(), many=True).data)


class ComparisonFilter(EntryFilter):
    state = filters.ChoiceFilter(field_name="job__state", choices=JobState.choices)
    pair = filters.UUIDFilter(field_name="pair_id")
    dataset = filters.UUIDFilter(field_name="dataset_id")
    tag = filters.CharFilter(field_name="tags__name", max_length=40)
    strategy = StrategyFilter(method="with_strategy", choices=[(slug, slug) for slug in STRATEGIES])

    def with_strategy(self, rows: QuerySet[Comparison], name: str, slug: str) -> QuerySet[Comparison]:
        """Filter by a subquery, not by a join that must be sorted out: 10,000 comparisons have 20,000 runs."""
        return rows.filter(Exists(Run.objects.filter(comparison=OuterRef("pk"), strategy=slug)))


class Comparisons(Binned):
    queryset = Comparison.objects.all()
    filterset_class = ComparisonFilter
    query_names = ("dry_run", "baseline", "strategy", "cause", "limit")

    def get_queryset(self) -> Any:
        rows = super().get_queryset()
        if self.action == "list":
            return in_rows(rows)
        return rows.select_related("pair__target", "pair__draft", "dataset", "job", "job__created_by").prefetch_related(
            "runs", "tags"
        )

    def get_serializer_class(self) -> Any:
        return serializers.ComparisonRow if self.action == "list" else serializers.ComparisonOut

    @extend_schema(
        request=serializers.NewComparison,
        responses={202: serializers.ComparisonOut, 200: serializers.PlanOut},
        parameters=[OpenApiParameter("dry_run", bool, description="only say what it would cost: answers a plan")],
    )
    def create(self, request: Request) -> Response:
        """Queue a comparison, or with `?dry_run=true` say what it would cost."""
        return self._launch(self.read(serializers.NewComparison))

    @extend_schema(
        request=serializers.Changes,
        responses={202: serializers.ComparisonOut, 200: serializers.PlanOut},
        parameters=[OpenApiParameter("dry_run", bool)],
    )
    def clone(self, request: Request, pk: UUID) -> Response:
        """Queue the same comparison again, with the changes of the body."""
        original = self.get_object()
        return self._launch({**services.asked_for(original), **self.read(serializers.Changes)}, original)

    @extend_schema(request=serializers.Description)
    def partial_update(self, request: Request, pk: UUID) -> Response:
        """Change name, notes or tags."""
        services.describe(comparison=self.get_object(), by=self.actor, **self.read(serializers.Description))
        return self.shown(self.get_object())

    @extend_schema(responses={200: report_schema.REPORT}, parameters=[BASELINE])
    def report(self, request: Request, pk: UUID) -> Response:
        """Show the verdict, and a row per strategy, from the samples finished so far."""
        comparison, baseline = self._pinned()
        return Response(report.so_far(comparison, baseline))

    @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR}, parameters=OF_BAR)
    def rounds(self, request: Request, pk: UUID) -> StreamingHttpResponse:
        """Download every round of every finished sample as a line of CSV, or the rounds behind a bar of `why`."""
        comparison = self.get_object()
        lines = as_csv(rounds.table(comparison, asked_bar(comparison, request.query_params.dict())))
        return Download(lines, f"rounds-{pk}.csv", reading(request, comparison))

    @extend_schema(responses={(200, "text/html"): OpenApiTypes.STR}, parameters=[BASELINE])
    def file(self, request: Request, pk: UUID) -> HttpResponse:
        """Download the page of an ended comparison as one HTML file, with races and texts, that makes no request."""
        comparison, baseline = self._pinned()
        return page.as_file(comparison, baseline, None)

    @extend_schema(
        responses={(200, "application/jsonl"): OpenApiTypes.STR},
        parameters=[
            OpenApiParameter("strategy", str, description="label; if not given, the strategy that the verdict names"),
            LINES.asked(),
            BASELINE,
        ],
    )
    def worst(self, request: Request, pk: UUID) -> StreamingHttpResponse:
        """Download the prompts on which a strategy gains least, the worst first, as a prompt file (JSON lines)."""
        comparison, baseline = self._pinned()
        strategy = request.query_params.get("strategy", "")
        lines = worst.as_lines(comparison, strategy, baseline, number(request, LINES))
        name = f"comparison-{comparison.pk}-worst.jsonl"
        return Download(lines, name, reading(request, comparison), JSON_LINES)

    def _pinned(self) -> tuple[Comparison, str]:
        comparison = self.get_object()
        return comparison, report.pinned(comparison, self.request.query_params.get("baseline", ""))

    def _launch(self, asked: dict[str, Any], original: Comparison | None = None) -> Response:
        dry_run = self.request.query_params.get("dry_run", "false")
        if dry_run not in ("true", "false", "1", "0"):
            raise Invalid(f"dry_run is {dry_run[:40]!r}; it can be true or false.", field="dry_run")
        if dry_run in ("true", "1"):
            return Response(serializers.PlanOut(plans.plan(**asked)).data)
        return self.shown(services.launch(by=self.actor, cloned_from=original, **asked), 202)


class SampleFilter(filters.FilterSet):
    run = filters.UUIDFilter(field_name="run_id")
    comparison = filters.UUIDFilter(field_name="run__comparison_id")


class Samples(Nouns):
    queryset = Sample.objects.select_related("prompt")
    serializer_class = serializers.SampleOut
    filterset_class = SampleFilter
    ordering_fields = ("created", "tokens_per_s", "new_tokens")
    query_names = ("after", "wait", "limit")

    @extend_schema(
        responses=serializers.TraceOut,
        parameters=[AFTER.asked(), WAIT.asked(), EVENTS.asked()],
    )
    def trace(self, request: Request, pk: UUID) -> HttpResponse:
        """Show the sample's events after a cursor, in order and without gaps; `wait` holds the answer until there are
        new ones."""
        sample = self.get_object()
        after, wait, limit = number(request, AFTER), number(request, WAIT), number(request, EVENTS)

        def look() -> tuple[Any, bool]:
            sample.refresh_from_db(fields=["last_seq"])  # first: once it is set, the trace read next is whole
            part = trace.read(sample=sample, after=after, limit=limit)
            last = part.events[-1]["seq"] if part.events else after
            is_finished = sample.last_seq is not None and last >= sample.last_seq
            body = {"events": part.events, "words": part.words, "last_seq": last, "is_finished": is_finished}
            return body, bool(part.events) or is_finished

        return answer(Waiting(look, trace.source(sample), wait, who(request), reading(request, sample)))
