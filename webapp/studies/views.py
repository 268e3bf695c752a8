"""Pages of studies of a pair: oracle analyses, plans, classifiers and their training."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from webapp.accounts.asked import Asked
from webapp.accounts.rights import Right
from webapp.core.forms import Form
from webapp.core.pages import listing, one, page
from webapp.jobs import log
from webapp.jobs.models import Job, Kind, State
from webapp.registry import classifying
from webapp.registry import serializers as registry_serializers
from webapp.registry import services as registry
from webapp.registry.models import Classifier, Training
from webapp.registry.sampling import SamplingFields
from webapp.studies import cross_sets, reading, serializers, services
from webapp.studies.models import KINDS, Study

MOST_LINES = 2000
MOST_OTHER_SETS = 7


@page(Right.READ)
def studies(request: Asked) -> HttpResponse:
    rows = Study.objects.visible_to(request.actor).select_related("pair", "dataset", "job").defer("document")
    in_bin = request.GET.get("bin") == "1"
    rows = rows.exclude(binned=None) if in_bin else rows.kept()
    found = listing(
        request, rows, search=("name", "pair__name", "dataset__name"),
        filters={"kind": [kind.value for kind in KINDS], "state": State.values},
        through={"kind": "job__kind", "state": "job__state"},
    )  # fmt: skip
    return render(request, "studies/studies.html", {"list": found, "in_bin": in_bin})


@page(Right.SUBMIT, ("GET", "POST"))
def new_study(request: Asked) -> HttpResponse:
    names = ("kind", "pair", "dataset", "split")
    form = Form(
        serializers.NewStudy, request, nested={"sampling": serializers.StudySampling}, actor=request.actor,
        initial={name: request.GET[name] for name in names if name in request.GET},
    )  # fmt: skip
    if made := form.submit(lambda **asked: services.launch(by=request.actor, **asked)):
        return redirect("study", made.pk)
    plain = [field for field in form if field.name != "sampling"]
    given = {name: value for name, _, value in form.boxes()}
    boxes = [(f"sampling.{field.name}", field, given[f"sampling.{field.name}"] or field.value)
             for field in Form(serializers.StudySampling)]  # fmt: skip
    return _form(request, "studies/new_study.html", form, plain=plain, boxes=boxes)


@page(Right.READ)
def study(request: Asked, id: UUID) -> HttpResponse:
    rows = Study.objects.visible_to(request.actor).select_related("pair", "dataset", "job", "created_by")
    found = one(rows, id)
    context = {"study": found, "found": found.document, **_work(found.job)}
    if found.kind == Kind.ORACLE:
        if found.document:
            low, high = reading.spread(found.document["histogram"])
            context |= {"low": low, "high": high, "sets": _sets(request, found)}
        return render(request, "studies/oracle.html", context)
    if found.document:
        context |= {
            "verdict": reading.verdict_of_plan(found.document),
            "settings": [reading.setting(row) for row in found.document["settings"]],
            "comparison": reading.comparison_of(found),
            "judged": _judged(found),
        }
    return render(request, "studies/plan.html", context)


@page(Right.SUBMIT, ("POST",))
def bin_study(request: Asked, id: UUID) -> HttpResponse:
    found = one(Study.objects.visible_to(request.actor), id)
    registry.bin(entry=found, by=request.actor)
    messages.success(request, f"{found.name} is in the bin.", extra_tags=reverse("restore-study", args=[id]))
    return redirect("studies")


@page(Right.SUBMIT, ("POST",))
def restore_study(request: Asked, id: UUID) -> HttpResponse:
    registry.restore(entry=one(Study.objects.visible_to(request.actor), id), by=request.actor)
    return redirect("study", id)


@page(Right.SUBMIT, ("GET", "POST"))
def train_classifier(request: Asked) -> HttpResponse:
    initial = {name: request.GET[name] for name in ("pair", "dataset") if name in request.GET}
    form = Form(registry_serializers.NewTraining, request, initial=initial, actor=request.actor)
    if made := form.submit(lambda **asked: classifying.train_classifier(by=request.actor, **asked)):
        return redirect("training", made.pk)
    folded = [field for field in form if field.name in SamplingFields._declared_fields]
    plain = [field for field in form if field not in folded]
    return _form(
        request,
        "studies/train_classifier.html",
        form,
        plain=plain,
        folded=folded,
        is_unfolded=any(f.errors for f in folded),
    )


@page(Right.READ)
def training(request: Asked, id: UUID) -> HttpResponse:
    """Show a training while it runs; afterwards the classifier's own page has all of it."""
    mine = Job.objects.visible_to(request.actor)
    rows = Training.objects.filter(job__in=mine).select_related("pair", "dataset", "job", "classifier")
    found = one(rows, id)
    if found.classifier:
        return redirect("classifier", found.classifier.pk)
    return render(request, "studies/training.html", {"training": found, **_work(found.job)})


@page(Right.READ)
def classifier(request: Asked, id: UUID) -> HttpResponse:
    rows = Classifier.objects.visible_to(request.actor).select_related("pair", "created_by", "training__dataset")
    found = one(rows, id)
    training = getattr(found, "training", None)
    context = {
        "entry": found,
        "card": found.card,
        "training": training,
        "cross": cross_sets.table(found.pair),
        "verdict": reading.verdict_of_classifier(found),
        "rules": list(found.card.get("sweep", {})),
        "ablations": reading.ablations(found.card),
        "predicted": sorted(found.card.get("predicted", {}).items(), key=lambda row: -(row[1] or 0)),
        "comparison": reading.comparison_with(found),
        "page": {"card": found.card, "lines": _lines(training.job) if training else []},
    }
    return render(request, "studies/classifier.html", context)


def _work(job: Job) -> dict[str, Any]:
    """Return what a page of a running job needs. The status is read first, so the socket tells all that happens
    later."""
    status = log.status_of(job, done=job.done_count, total=job.total_count)
    roads = {"job": str(job.pk), "socket": f"/ws/jobs/{job.pk}/", "poll": reverse("jobs-news", args=[job.pk])}
    return {"job": job, "status": status, "work": {**roads, "status": status, "lines": _lines(job)}}


def _lines(job: Job) -> list[dict[str, Any]]:
    return [log.shown(line) for line in log.read(job=job.pk, after=0, limit=MOST_LINES)]


def _judged(plan: Study) -> list[dict[str, Any]]:
    names = dict(Classifier.objects.filter(pair=plan.pair).values_list("pk", "name"))
    return [
        {
            **row,
            "name": names.get(UUID(row["classifier"]), "one that is gone"),
            "is_there": UUID(row["classifier"]) in names,
            "best": max(row["speedups"].values()),
        }
        for row in plan.found("classifiers") or []
    ]


def _sets(request: Asked, shown: Study) -> list[dict[str, Any]]:
    """Return the newest study of each other prompt set under the same pair, to draw beside this one."""
    others = Study.objects.visible_to(request.actor).kept().filter(pair=shown.pair, job__kind=Kind.ORACLE)
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


def _form(request: Asked, template: str, form: Form, **more: Any) -> HttpResponse:
    return render(request, template, {"form": form, **more}, status=422 if form.errors else 200)
