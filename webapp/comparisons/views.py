"""Pages of comparisons: the list, and the form with its plan. `page` has the page of one."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Exists, OuterRef
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from decoding.public import BadStrategy, parse_choices
from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.comparisons import demo, services
from webapp.comparisons.figures import verdict_of
from webapp.comparisons.forms import ComparisonForm
from webapp.comparisons.models import Comparison, Tag, in_rows
from webapp.comparisons.serializers import Description
from webapp.comparisons.specs import specify
from webapp.core.forms import Form
from webapp.core.pages import listing, one, page
from webapp.entries.views import in_bin, listed
from webapp.jobs.models import JobState
from webapp.registry.models import Dataset, LanguageModel, Pair

MOST_TAGS = 200  # offered as a filter


@page(Right.READ)
def comparisons(request: ActorRequest) -> HttpResponse:
    rows = in_rows(listed(request, Comparison.objects))
    tagged = Tag.objects.filter(Exists(rows.filter(pk=OuterRef("comparison"))))  # there are fewer tags than comparisons
    tags = tagged.order_by("name").values_list("name", flat=True).distinct()
    found = listing(
        request, rows, search=("name", "pair__name", "dataset__name", "notes"),
        filters={"state": JobState.values, "tag": list(tags[:MOST_TAGS])},
        through={"state": "job__state", "tag": "tags__name"},
    )  # fmt: skip
    with_words = [(comparison, *verdict_of(comparison)) for comparison in found.rows]
    context: dict[str, Any] = {"list": found, "rows": with_words, "in_bin": in_bin(request)}
    context["demo"] = demo.wanted(request.actor)
    if not found.total and not request.GET:
        context["first_steps"] = _first_steps(request)
    return render(request, "comparisons/comparisons.html", context)


@page(Right.SUBMIT, ("GET", "POST"))
def new_comparison(request: ActorRequest) -> HttpResponse:
    """Form of a new comparison with its plan; `launch` starts it. A clone starts from another's body."""
    form = ComparisonForm(request, _initial(request))
    form.take_sampling()
    if "launch" in request.POST and (made := form.submit(lambda **asked: services.launch(by=request.actor, **asked))):
        return redirect("comparison", made.pk)
    if "launch" not in request.POST:
        form.submit(lambda name="", **asked: specify(**asked))  # finds what is wrong
    plan, why_not = form.plan()
    code = {
        "url": request.build_absolute_uri(reverse("comparisons-list")),
        "method": "POST",
        "body": json.dumps(form.body, ensure_ascii=False, default=str),
    }
    context = {"form": form, "plan": plan, "why_not": why_not, "code": code}
    return render(request, "comparisons/new_comparison.html", context, status=422 if form.errors else 200)


@page(Right.SUBMIT, ("POST",))
def run_demo(request: ActorRequest) -> HttpResponse:
    return redirect("comparison", demo.launch(by=request.actor).pk)


@page(Right.SUBMIT, ("POST",))
def describe_comparison(request: ActorRequest, id: UUID) -> HttpResponse:
    """Take name, notes and tags from the form of the result page; an empty box empties notes or tags."""
    found = one(Comparison.objects.visible_to(request.actor), id)
    tags = [tag.strip() for tag in request.POST.get("tags", "").split(",") if tag.strip()]
    asked = {"name": request.POST.get("name", ""), "notes": request.POST.get("notes", ""), "tags": tags}
    form = Form(Description, data=asked)
    form.submit(lambda **words: services.describe(comparison=found, by=request.actor, **words))
    if form.errors:
        messages.error(request, f"Nothing was saved. {form.refusal}")
    return redirect("comparison", id)


def _initial(request: ActorRequest) -> dict[str, Any]:
    initial = {**_origin(request), **({"strategies": named} if (named := _named(request)) else {})}
    users = request.GET.get("concurrency", "")
    return {**initial, "concurrency": [int(users)]} if users.isdecimal() and len(users) < 4 else initial


def _named(request: ActorRequest) -> list[dict[str, Any]]:
    """Strategies that a link names, in the spelling of the command line."""
    try:
        choices = parse_choices(request.GET.get("strategies", ""))
    except BadStrategy:
        return []
    return [{"strategy": choice.strategy, "params": dict(choice.params)} for choice in choices]


def _origin(request: ActorRequest) -> dict[str, Any]:
    if origin := request.GET.get("clone"):
        try:
            found = one(Comparison.objects.visible_to(request.actor), UUID(origin))
        except ValueError:
            return {}
        asked = services.asked_for(found)
        return {**asked, "pair": asked["pair"] and asked["pair"].pk, "dataset": asked["dataset"].pk}
    return {name: request.GET[name] for name in ("pair", "dataset") if name in request.GET}


def _first_steps(request: ActorRequest) -> dict[str, bool]:
    """First steps that a new team has taken itself: what came with Drafthouse does not count."""
    mine = {
        kind: kind.objects.visible_to(request.actor).kept().exclude(name__startswith=demo.STARTER)
        for kind in (LanguageModel, Pair, Dataset)
    }
    return {kind.__name__: rows.exists() for kind, rows in mine.items()}
