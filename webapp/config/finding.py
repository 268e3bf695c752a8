"""Search over everything that a team has, and over pages and actions. Each kind gives only its first few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpResponse, JsonResponse
from django.urls import reverse

from webapp.accounts.actor import Actor
from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.comparisons.models import Comparison, Run
from webapp.core.naming import moment
from webapp.core.pages import page
from webapp.docs import contents, library
from webapp.jobs.models import Job
from webapp.registry.models import Dataset, Endpoint, LanguageModel, Pair
from webapp.studies.models import Classifier, Study, Training
from webapp.uploads.models import Upload

MOST = 6  # of one kind
LONGEST = 100  # characters that are searched for
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Findable:
    """Things that are found by their names."""

    label: str
    rows: Callable[[Actor], QuerySet[Any]]  # those that an actor may see
    url: Callable[[Row], str]
    name: str = "name"
    also: tuple[str, ...] = ()  # further columns that the URL needs
    about: Callable[[Row], str] = lambda row: moment(row["created"])  # tells things of one name apart


def thing(label: str, kind: Any, route: str, at: str = "pk", **more: Any) -> Findable:
    """Make things of a kind findable. `at` is the column that the page's address holds."""

    def rows(actor: Actor) -> QuerySet[Any]:
        visible = kind.objects.visible_to(actor)
        return visible.kept() if hasattr(visible, "kept") else visible

    return Findable(label, rows, lambda row: reverse(route, args=[row[at]]), **more)


def _models_of(row: Row) -> str:
    """Name the models of a pair."""
    return " / ".join(filter(None, (row["target__name"], row["draft__name"])))


KINDS = (
    thing("Comparison", Comparison, "comparison"),
    thing("Pair", Pair, "pair", also=("target__name", "draft__name"), about=_models_of),
    thing("Model", LanguageModel, "model"),
    thing("Prompts", Dataset, "dataset"),
    thing("Server", Endpoint, "endpoint"),
    thing("Classifier", Classifier, "classifier"),
    Findable(
        "Training",  # that has made no classifier yet: then that has the page
        lambda actor: Training.objects.filter(job__in=Job.objects.visible_to(actor), classifier=None),
        lambda row: reverse("training", args=[row["pk"]]),
    ),
    thing("Study", Study, "study"),
    thing(
        "Run",
        Run,
        "comparison",
        at="comparison_id",
        name="label",
        also=("comparison_id", "comparison__name"),
        about=lambda row: f"{row['comparison__name']}, {moment(row['created'])}",
    ),
    thing("Job", Job, "job", name="title"),
    Findable(
        "Upload",  # has no page of its own: its list is searched for it
        lambda actor: Upload.objects.visible_to(actor),
        lambda row: f"{reverse('uploads')}?{urlencode({'q': row['name']})}",
    ),
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
    "team": "Team and invitations", "tokens": "API tokens", "account": "Account and password",
    "docs": "Documentation: help",
}  # fmt: skip
FOR_OWNERS = {"audit": "Who did what: audit"}
FOR_THE_OPERATOR = {"system": "System: versions, workers, disk", "users": "Users of this installation"}


@page(Right.READ)
def find(request: ActorRequest) -> HttpResponse:
    """List what has every word of `q` in its name, as JSON for the search box."""
    actor, words = request.actor, request.GET.get("q", "").replace("\0", "")[:LONGEST].lower().split()
    found = [*_listed("Action", ACTIONS, words)] if actor.can_submit else []
    if words:
        found += [thing for kind in KINDS for thing in _named(kind, actor, words)]
    listed = [*_listed("Page", _pages(actor), words), *_documentation(words)]
    return JsonResponse({"found": [*found, *listed]})


def _named(kind: Findable, actor: Actor, words: list[str]) -> list[dict[str, str]]:
    rows = kind.rows(actor)
    for word in words:
        rows = rows.filter(**{f"{kind.name}__icontains": word})
    newest = rows.order_by("-created").values("pk", "created", kind.name, *kind.also)[:MOST]
    return [
        {"kind": kind.label, "name": row[kind.name], "about": kind.about(row), "url": kind.url(row)} for row in newest
    ]


def _pages(actor: Actor) -> dict[str, str]:
    return PAGES | (FOR_OWNERS if actor.can_admin else {}) | (FOR_THE_OPERATOR if actor.is_operator else {})


def _listed(kind: str, titles: dict[str, str], words: list[str]) -> list[dict[str, str]]:
    return [
        {"kind": kind, "name": title.partition(":")[0], "url": reverse(route)}
        for route, title in titles.items()
        if all(word in title.lower() for word in words)
    ]


def _documentation(words: list[str]) -> list[dict[str, str]]:
    """Parts of the documentation: first pages with these words in their titles, then parts with them in their text.
    Without a word all of them would hide everything else."""
    if not words:
        return []
    titles = {library.address(name): title for pages in contents().values() for name, title in pages.items()}
    found = {at: (title, "") for at, title in titles.items() if _has(title, words)}
    for one in library.index():
        if _has(f"{one['page']} {one['heading']} {one['words']}", words):
            found.setdefault(one["at"], (one["page"], one["heading"] * (one["heading"] != one["page"])))
    return [
        {"kind": "Documentation", "name": title, "about": about, "url": at}
        for at, (title, about) in [*found.items()][:MOST]
    ]


def _has(text: str, words: list[str]) -> bool:
    return all(word in text.lower() for word in words)
