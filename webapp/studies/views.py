"""Pages of studies: oracle analyses, plans, projections, and the figures of the papers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render

from decoding.public import BEST_OF_SOURCES, Choice, labelled, remarks_on
from webapp.accounts.actor import Actor
from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.core.forms import Form
from webapp.core.naming import file_name
from webapp.core.one_file import one_file
from webapp.core.pages import form_page, listing, one, page
from webapp.core.problems import Conflict
from webapp.entries.views import in_bin, listed
from webapp.jobs.models import JobState
from webapp.jobs.work import work_of
from webapp.studies import plans, reading, serializers, services
from webapp.studies.kinds import KINDS, ORACLE, PAPERS, PLAN, PROJECTION
from webapp.studies.models import Study

MOST_OTHER_SETS = 7
FOLDED = {  # fields that few need, by what stands over them; those of some kinds with the kinds' property
    "Several loads": (("loads",), "takes_loads"),
    "Machine": (("card", "own_card"), "needs_card"),
    "Classifier": (("classifier",), "uses_classifier"),
    "Static lookahead": (("lookahead",), "takes_lookahead"),
    "Queue": (("queue", "priority"), ""),
}


@page(Right.READ)
def studies(request: ActorRequest) -> HttpResponse:
    rows = Study.objects.select_related("pair__target", "pair__draft", "dataset", "job").defer("document", "parts")
    found = listing(
        request, listed(request, rows), search=("name", "pair__name", "dataset__name"),
        filters={"kind": list(KINDS), "state": JobState.values},
        through={"kind": "job__kind", "state": "job__state"},
    )  # fmt: skip
    return render(request, "studies/studies.html", {"list": found, "in_bin": in_bin(request)})


@page(Right.SUBMIT, ("GET", "POST"))
def new_study(request: ActorRequest) -> HttpResponse:
    names = ("kind", "pair", "dataset", "split")
    form = Form(
        serializers.NewStudy, request, nested={"sampling": serializers.StudySampling}, actor=request.actor,
        initial={"kind": PLAN.slug, **{name: request.GET[name] for name in names if name in request.GET}},
    )  # fmt: skip
    if made := form.submit(lambda **asked: services.launch(by=request.actor, **asked)):
        return redirect("study", made.pk)
    plan = plans.shown(form, serializers.NewStudy, plans.of_study, request.actor)
    aside = {"sampling", *(name for names, _ in FOLDED.values() for name in names)}
    plain = [field for field in form if field.name not in aside]
    folded = [_group(form, title) for title in FOLDED]
    given = {name: value for name, _, value in form.boxes()}
    boxes = [replace(field, name=(name := f"sampling.{field.name}"), value=given[name] or field.value)
             for field in Form(serializers.StudySampling)]  # fmt: skip
    return form_page(request, "studies/new_study.html", form, plain=plain, folded=folded, boxes=boxes, **plan)


def _group(form: Form, title: str) -> dict[str, Any]:
    """Fields that fold away together, and the kinds of studies that take them."""
    names, flag = FOLDED[title]
    fields = list(form.only(*names))
    is_open = title in form.unfolded or any(field.errors for field in fields)
    kinds = [slug for slug, kind in KINDS.items() if flag and getattr(kind, flag)]
    return {"title": title, "fields": fields, "is_open": is_open, "kinds": " ".join(kinds)}


@page(Right.READ)
def study(request: ActorRequest, id: UUID) -> HttpResponse:
    rows = Study.objects.visible_to(request.actor).select_related("pair", "dataset", "job", "created_by")
    found = one(rows, id)
    return render(request, f"studies/{found.kind}.html", {**content(found, request.actor), **work_of(found.job)})


def content(found: Study, actor: Actor) -> dict[str, Any]:
    """Return the content of a study's page, with other studies that the actor may see."""
    read = READ[found.kind](actor, found) if found.document and found.kind in READ else {}
    return {
        "study": found,
        "found": found.document,
        "job": found.job,
        "classifier": services.classifier_of(found),
        "figures": services.figures_of(found),
        "endings": services.ENDINGS,
        "entry": SCRIPTS.get(found.kind, "js/pages/charts.js"),
        "places": PLACES.get(found.kind, (found.kind,)),
        **read,
    }


def as_file(found: Study, actor: Actor) -> HttpResponse:
    """Answer the page of a study as one file."""
    if not found.document:
        raise Conflict("This study has no result yet.", hint="Download it when it has succeeded.")
    inside = content(found, actor)
    entry, sections, name = inside["entry"], inside["places"], file_name(found)
    return one_file(f"studies/{found.kind}.html", inside, entry=entry, sections=sections, name=name)


def _oracle(actor: Actor, found: Study) -> dict[str, Any]:
    low, high = reading.spread(found.found("histogram"))
    series = reading.passes(found.document or {})
    sources = reading.sources(found.document or {})
    is_undrafted = found.pair.is_undrafted or bool(found.found("draft_left_out"))
    start = reading.to_start(found.document or {}, is_undrafted=is_undrafted)
    about = {"low": low, "high": high, "is_undrafted": is_undrafted, "start": start, "best_of_sources": BEST_OF_SOURCES}
    remarks = remarks_on(labelled(name for name, _ in sources))
    return {**about, "sets": _sets(actor, found), "series": series, "sources": sources, "remarks": remarks}


def _plan(actor: Actor, found: Study) -> dict[str, Any]:
    return {
        "verdict": reading.verdict_of_plan(found.document or {}),
        "settings": reading.settings(found.document or {}),
        "remarks": _remarks(found),
        "at_load": reading.at_load(found.document or {}),
        "comparison": reading.comparison_of(found),
    }


def _projection(actor: Actor, found: Study) -> dict[str, Any]:
    return {
        "verdict": reading.verdict_of_projection(found.document or {}),
        "batches": reading.by_batch(found.found("settings")),
        "remarks": _remarks(found),
    }


def _remarks(found: Study) -> list[str]:
    return remarks_on(map(Choice.of, found.found("settings")))


# the script of a study's page and the places of its charts, where the kind of the study does not name them
SCRIPTS = {PAPERS.slug: "js/pages/papers.js"}
PLACES = {PAPERS.slug: ("figure",)}

# content of a study's page, by its kind
READ = {
    ORACLE.slug: _oracle,
    PLAN.slug: _plan,
    PROJECTION.slug: _projection,
}


def _sets(actor: Actor, shown: Study) -> list[dict[str, Any]]:
    """Newest study of each prompt set of this pair, to draw beside this one."""
    others = Study.objects.visible_to(actor).kept().filter(pair=shown.pair, job__kind=ORACLE.slug)
    found: dict[UUID, Study] = {shown.dataset_id: shown}
    for other in others.filter(document__isnull=False).select_related("dataset").order_by("-created")[:100]:
        if len(found) <= MOST_OTHER_SETS:
            found.setdefault(other.dataset_id, other)
    names = ("samples", "mean", "deviation", "histogram", "by_progress")
    return [
        {"id": str(each.pk), "name": each.dataset.name, **{name: each.found(name) for name in names}}
        for each in found.values()
        if each.document
    ]
