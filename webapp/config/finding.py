"""Search over everything that a team has, and over pages and actions. Each kind gives only its first few."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, JsonResponse
from django.urls import reverse

from webapp.accounts.asked import Asked
from webapp.accounts.rights import Right
from webapp.comparisons.models import Comparison
from webapp.core.pages import page
from webapp.registry.models import Dataset, Endpoint, LanguageModel, Pair
from webapp.studies.models import Classifier, Study

MOST = 6  # of one kind
LONGEST = 100  # characters that are searched for
KINDS: tuple[tuple[str, Any, str], ...] = (
    ("Comparison", Comparison, "comparison"),
    ("Pair", Pair, "pair"),
    ("Model", LanguageModel, "model"),
    ("Prompts", Dataset, "dataset"),
    ("Server", Endpoint, "endpoint"),
    ("Classifier", Classifier, "classifier"),
    ("Study", Study, "study"),
)
ACTIONS = {
    "new-comparison": "New comparison: compare strategies",
    "new-pair": "New pair",
    "new-model": "New model: upload",
    "new-dataset": "New prompt set: upload prompts",
    "new-endpoint": "New server: register an endpoint",
    "train-classifier": "Train a classifier (DISCO)",
    "new-classifier": "Add a classifier from files",
    "new-study": "New study: plan or oracle",
}
PAGES = {
    "comparisons": "Comparisons", "runs": "Runs", "pairs": "Pairs", "models": "Models", "datasets": "Prompts",
    "endpoints": "Servers",
    "classifiers": "Classifiers", "studies": "Studies", "jobs": "Jobs, queues and workers", "uploads": "Uploads",
    "team": "Team and invitations", "tokens": "API tokens", "account": "Account and password", "api-docs": "REST API",
}  # fmt: skip


@page(Right.READ)
def find(request: Asked) -> HttpResponse:
    """List what has every word of `q` in its name, as JSON for the search box."""
    words = request.GET.get("q", "").replace("\0", "")[:LONGEST].lower().split()
    found = [*_listed("Action", ACTIONS, words)] if request.actor.can_submit else []
    for label, kind, route in KINDS if words else ():
        rows = kind.objects.visible_to(request.actor).kept()
        for word in words:
            rows = rows.filter(name__icontains=word)
        names = rows.order_by("-created").values_list("pk", "name")[:MOST]
        found += [{"kind": label, "name": name, "url": reverse(route, args=[pk])} for pk, name in names]
    return JsonResponse({"found": [*found, *_listed("Page", PAGES, words)]})


def _listed(kind: str, titles: dict[str, str], words: list[str]) -> list[dict[str, str]]:
    return [
        {"kind": kind, "name": title.partition(":")[0], "url": reverse(route)}
        for route, title in titles.items()
        if all(word in title.lower() for word in words)
    ]
