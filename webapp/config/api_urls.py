"""Every address of the API, in one place."""

from __future__ import annotations

from typing import Any

from django.urls import URLPattern, path
from rest_framework.viewsets import ViewSetMixin

from webapp.accounts import api as accounts
from webapp.comparisons import api as comparisons
from webapp.comparisons.across import api as across
from webapp.comparisons.what_if import api as what_if
from webapp.config import views
from webapp.jobs import api as jobs
from webapp.live import api as live
from webapp.registry import api as registry
from webapp.registry.endpoints import api as endpoints
from webapp.sharing import api as sharing
from webapp.studies import api as studies
from webapp.studies.classifiers import api as classifiers
from webapp.uploads import api as uploads

Actions = dict[str, Any]  # method → action

READ: Actions = {"get": "retrieve"}
LIST: Actions = {"get": "list"}
CREATE: Actions = {"post": "create"}
CHANGE: Actions = {"patch": "partial_update"}
DELETE: Actions = {"delete": "destroy"}


def noun(
    name: str, view: type[ViewSetMixin], *, many: Actions, one: Actions, verbs: tuple[str, ...] = ()
) -> list[URLPattern]:
    """Return the routes of a collection, of one thing in it, and of the verbs that are POSTed to one thing."""
    return [
        path(f"{name}/", view.as_view(many, basename=name), name=f"{name}-list"),
        path(f"{name}/<uuid:pk>/", view.as_view(one, basename=name), name=f"{name}-detail"),
        *(
            path(f"{name}/<uuid:pk>/{verb}/", view.as_view({"post": verb}, basename=name), name=f"{name}-{verb}")
            for verb in verbs
        ),
    ]


urlpatterns = [
    path("schema/", views.SchemaView.as_view(), name="schema"),
    path("system/", views.SystemView.as_view(), name="system-api"),
    path("me/", accounts.MeView.as_view(), name="me"),
    *noun("users", accounts.Users, many=LIST, one=READ, verbs=("deactivate", "reactivate")),
    *noun("teams", accounts.Teams, many=LIST | CREATE, one=READ | CHANGE, verbs=("switch",)),
    *noun("members", accounts.Members, many=LIST, one=READ | CHANGE | DELETE),
    *noun("invitations", accounts.Invitations, many=LIST | CREATE, one=READ | DELETE),
    *noun("tokens", accounts.Tokens, many=LIST | CREATE, one=READ | DELETE),
    *noun("audit", accounts.AuditTrail, many=LIST, one=READ),
    *noun("jobs", jobs.JobsApi, many=LIST, one=READ | CHANGE, verbs=("retry",)),
    path(
        "jobs/<uuid:pk>/cancel/",
        jobs.JobsApi.as_view({"post": "cancel", "get": "may_cancel"}, basename="jobs"),
        name="jobs-cancel",
    ),
    path("jobs/<uuid:pk>/events/", jobs.JobsApi.as_view({"get": "events"}, basename="jobs"), name="jobs-events"),
    path(
        "jobs/<uuid:pk>/telemetry/", jobs.JobsApi.as_view({"get": "telemetry"}, basename="jobs"), name="jobs-telemetry"
    ),
    path("jobs/<uuid:pk>/news/", live.JobNews.as_view({"get": "news"}), name="jobs-news"),
    *noun("uploads", uploads.Uploads, many=LIST | CREATE, one=READ | DELETE, verbs=("complete",)),
    path(
        "uploads/<uuid:pk>/chunks/<str:sha256>/",
        uploads.Chunks.as_view({"post": "offer", "put": "update"}),
        name="uploads-chunk",
    ),
    *noun("models", registry.Models, many=LIST | CREATE, one=READ | CHANGE | DELETE, verbs=("restore",)),
    *noun("pairs", registry.Pairs, many=LIST | CREATE, one=READ | CHANGE | DELETE, verbs=("restore",)),
    path("pairs/check/", registry.Pairs.as_view({"post": "check"}), name="pairs-check"),
    *noun("endpoints", endpoints.Endpoints, many=LIST | CREATE, one=READ | DELETE, verbs=("restore", "check")),
    path(
        "endpoints/<uuid:pk>/key/",
        endpoints.Endpoints.as_view({"put": "set_key", "delete": "drop_key"}, basename="endpoints"),
        name="endpoints-key",
    ),
    *noun("datasets", registry.Datasets, many=LIST | CREATE, one=READ | CHANGE | DELETE, verbs=("restore",)),
    path("datasets/preview/", registry.Datasets.as_view({"post": "preview"}), name="datasets-preview"),
    path("datasets/<uuid:pk>/prompts/", registry.Prompts.as_view(LIST), name="datasets-prompts"),
    path(
        "datasets/<uuid:pk>/token-lengths/",
        registry.TokenCounts.as_view(LIST | CREATE),
        name="datasets-token-lengths",
    ),
    path("classifiers/train/", classifiers.Classifiers.as_view({"post": "train"}), name="classifiers-train"),
    *noun("classifiers", classifiers.Classifiers, many=LIST | CREATE, one=READ | CHANGE | DELETE, verbs=("restore",)),
    path("classifiers/<uuid:pk>/page/", classifiers.Classifiers.as_view({"get": "page"}), name="classifiers-page"),
    path(
        "classifiers/<uuid:pk>/files/<str:name>/",
        classifiers.Classifiers.as_view({"get": "file"}, basename="classifiers"),
        name="classifiers-file",
    ),
    *noun(
        "studies",
        studies.Studies,
        many=LIST | CREATE,
        one=READ | DELETE,
        verbs=("cancel", "retry", "restore"),
    ),
    path("studies/<uuid:pk>/file/", studies.Studies.as_view({"get": "file"}), name="studies-file"),
    path("studies/<uuid:pk>/document/", studies.Studies.as_view({"get": "document"}), name="studies-document"),
    path("studies/<uuid:pk>/figures/", studies.Studies.as_view({"get": "figures"}), name="studies-figures"),
    path(
        "studies/<uuid:pk>/figures/<str:name>/",
        studies.Studies.as_view({"get": "figure"}),
        name="studies-figure",
    ),
    path("strategies/", comparisons.StrategiesView.as_view(), name="strategies"),
    *noun(
        "comparisons",
        comparisons.Comparisons,
        many=LIST | CREATE,
        one=READ | CHANGE | DELETE,
        verbs=("cancel", "retry", "clone", "restore"),
    ),
    path(
        "comparisons/<uuid:pk>/report/", comparisons.Comparisons.as_view({"get": "report"}), name="comparisons-report"
    ),
    path(
        "comparisons/<uuid:pk>/rounds.csv",
        comparisons.Comparisons.as_view({"get": "rounds"}),
        name="comparisons-rounds",
    ),
    path(
        "comparisons/<uuid:pk>/spec-bench.jsonl",
        comparisons.Comparisons.as_view({"get": "spec_bench"}),
        name="comparisons-spec-bench",
    ),
    path("comparisons/<uuid:pk>/file/", comparisons.Comparisons.as_view({"get": "file"}), name="comparisons-file"),
    path("comparisons/<uuid:pk>/what-if/", what_if.WhatIf.as_view({"get": "retrieve"}), name="comparisons-what-if"),
    path(
        "comparisons/<uuid:pk>/samples.csv", comparisons.Comparisons.as_view({"get": "table"}), name="comparisons-csv"
    ),
    path(
        "comparisons/<uuid:pk>/worst.jsonl",
        comparisons.Comparisons.as_view({"get": "worst"}),
        name="comparisons-worst",
    ),
    path("comparisons/<uuid:pk>/events/", live.News.as_view({"get": "events"}), name="comparisons-events"),
    path("comparisons/<uuid:pk>/shares/", sharing.Shares.as_view(CREATE, basename="shares"), name="comparisons-shares"),
    *noun("shares", sharing.Shares, many=LIST, one=READ | DELETE),
    path("tickets/", live.Tickets.as_view(CREATE), name="tickets-list"),
    *noun("runs", across.Runs, many=LIST, one=READ),
    path("runs/line/", across.Runs.as_view({"get": "line"}, basename="runs"), name="runs-line"),
    path("runs.csv", across.Runs.as_view({"get": "table"}, basename="runs"), name="runs-csv"),
    path("pairs/<uuid:pk>/history/", across.Histories.as_view({"get": "history"}), name="pairs-history"),
    *noun("conditions", across.ConditionsApi, many=LIST, one=READ),
    *noun("views", across.SavedViews, many=LIST | CREATE, one=READ | CHANGE | DELETE, verbs=("restore",)),
    *noun("samples", comparisons.Samples, many=LIST, one=READ),
    path("samples/<uuid:pk>/trace/", comparisons.Samples.as_view({"get": "trace"}), name="samples-trace"),
    path("queues/", jobs.Queues.as_view(), name="queues-list"),
    path("queues/<str:queue>/pause/", jobs.Pauses.as_view(), name="queues-pause"),
    path("workers/", jobs.Workers.as_view(LIST), name="workers-list"),
]
