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
        at(f"{name}/", f"{name}-list", view, **many),
        at(f"{name}/<uuid:pk>/", f"{name}-detail", view, **one),
        *(at(f"{name}/<uuid:pk>/{verb}/", f"{name}-{verb}", view, post=verb) for verb in verbs),
    ]


def at(address: str, name: str, view: type[ViewSetMixin], **actions: Any) -> URLPattern:
    """Return the route of a part or a further verb of a kind, which the name begins with."""
    return path(address, view.as_view({**actions}, basename=name.partition("-")[0]), name=name)


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
    *noun("jobs", jobs.JobsApi, many=LIST, one=READ | CHANGE, verbs=("retry", "cancel")),
    at("jobs/<uuid:pk>/events/", "jobs-events", jobs.JobsApi, get="events"),
    at("jobs/<uuid:pk>/telemetry/", "jobs-telemetry", jobs.JobsApi, get="telemetry"),
    at("jobs/<uuid:pk>/news/", "jobs-news", live.JobNews, get="news"),
    *noun("uploads", uploads.Uploads, many=LIST | CREATE, one=READ | DELETE, verbs=("complete",)),
    at("uploads/<uuid:pk>/chunks/<str:sha256>/", "uploads-chunk", uploads.Chunks, post="offer", put="update"),
    *noun("models", registry.Models, many=LIST | CREATE, one=READ | CHANGE | DELETE, verbs=("restore",)),
    *noun("pairs", registry.Pairs, many=LIST | CREATE, one=READ | CHANGE | DELETE, verbs=("restore",)),
    at("pairs/check/", "pairs-check", registry.Pairs, post="check"),
    *noun("endpoints", endpoints.Endpoints, many=LIST | CREATE, one=READ | DELETE, verbs=("restore", "check")),
    at("endpoints/<uuid:pk>/key/", "endpoints-key", endpoints.Endpoints, put="set_key", delete="drop_key"),
    *noun("datasets", registry.Datasets, many=LIST | CREATE, one=READ | CHANGE | DELETE, verbs=("restore",)),
    at("datasets/preview/", "datasets-preview", registry.Datasets, post="preview"),
    at("datasets/<uuid:pk>/prompts/", "datasets-prompts", registry.Prompts, **LIST),
    at("datasets/<uuid:pk>/token-lengths/", "datasets-token-lengths", registry.TokenCounts, **LIST | CREATE),
    at("classifiers/train/", "classifiers-train", classifiers.Classifiers, post="train"),
    *noun("classifiers", classifiers.Classifiers, many=LIST | CREATE, one=READ | CHANGE | DELETE, verbs=("restore",)),
    at("classifiers/<uuid:pk>/page/", "classifiers-page", classifiers.Classifiers, get="page"),
    at("classifiers/<uuid:pk>/files/<str:name>/", "classifiers-file", classifiers.Classifiers, get="file"),
    *noun("studies", studies.Studies, many=LIST | CREATE, one=READ | DELETE, verbs=("restore",)),
    at("studies/<uuid:pk>/file/", "studies-file", studies.Studies, get="file"),
    at("studies/<uuid:pk>/document/", "studies-document", studies.Studies, get="document"),
    at("studies/<uuid:pk>/figures/", "studies-figures", studies.Studies, get="figures"),
    at("studies/<uuid:pk>/figures/<str:name>/", "studies-figure", studies.Studies, get="figure"),
    path("strategies/", comparisons.StrategiesView.as_view(), name="strategies"),
    *noun(
        "comparisons",
        comparisons.Comparisons,
        many=LIST | CREATE,
        one=READ | CHANGE | DELETE,
        verbs=("clone", "restore"),
    ),
    at("comparisons/<uuid:pk>/report/", "comparisons-report", comparisons.Comparisons, get="report"),
    at("comparisons/<uuid:pk>/rounds.csv", "comparisons-rounds", comparisons.Comparisons, get="rounds"),
    at("comparisons/<uuid:pk>/file/", "comparisons-file", comparisons.Comparisons, get="file"),
    at("comparisons/<uuid:pk>/what-if/", "comparisons-what-if", what_if.WhatIf, get="retrieve"),
    at("comparisons/<uuid:pk>/worst.jsonl", "comparisons-worst", comparisons.Comparisons, get="worst"),
    at("comparisons/<uuid:pk>/events/", "comparisons-events", live.News, get="events"),
    path("comparisons/<uuid:pk>/shares/", sharing.Shares.as_view(CREATE, basename="shares"), name="comparisons-shares"),
    *noun("shares", sharing.Shares, many=LIST, one=READ | DELETE),
    path("tickets/", live.Tickets.as_view(CREATE), name="tickets-list"),
    *noun("runs", across.Runs, many=LIST, one=READ),
    at("runs.csv", "runs-csv", across.Runs, get="table"),
    *noun("samples", comparisons.Samples, many=LIST, one=READ),
    at("samples/<uuid:pk>/trace/", "samples-trace", comparisons.Samples, get="trace"),
    path("queues/", jobs.Queues.as_view(), name="queues-list"),
    path("queues/<str:queue>/pause/", jobs.Pauses.as_view(), name="queues-pause"),
    path("workers/", jobs.Workers.as_view(LIST), name="workers-list"),
]
