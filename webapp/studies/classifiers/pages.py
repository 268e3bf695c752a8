"""Pages of classifiers: the list, the forms that add or train one, a training, and a classifier."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render

from decoding.public import DESIGNS, OURS, rule_of, sharing_sentence
from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.core.forms import Form
from webapp.core.naming import file_name
from webapp.core.one_file import one_file
from webapp.core.pages import form_page, listing, one, page
from webapp.core.turns import takes_long
from webapp.entries.views import in_bin, listed
from webapp.jobs.models import FINAL, Job
from webapp.jobs.work import lines, work_of
from webapp.registry.recipe_fields import SamplingFields
from webapp.studies import plans, reading
from webapp.studies.classifiers import serializers, services
from webapp.studies.models import Classifier, Training

SCRIPT = "js/pages/classifier.js"
SHOWN = ("pair", "created_by", "training__dataset", "training__start")  # what its page reads with it


@page(Right.READ)
def classifiers(request: ActorRequest) -> HttpResponse:
    rows = Classifier.objects.select_related("pair", "training__dataset").defer("card")
    mine = Job.objects.visible_to(request.actor).exclude(state__in=FINAL)
    context = {
        "list": listing(request, listed(request, rows)),
        "kind": Classifier.address,
        "in_bin": in_bin(request),
        "trainings": Training.objects.filter(job__in=mine).select_related("job", "pair"),
    }
    return render(request, "studies/classifiers.html", context)


@takes_long("POST")
@page(Right.SUBMIT, ("GET", "POST"))
def new_classifier(request: ActorRequest) -> HttpResponse:
    form = Form(serializers.NewClassifier, request, actor=request.actor)
    if form.submit(lambda **asked: services.add_classifier(by=request.actor, **asked)):
        return redirect("classifiers")
    return form_page(request, "studies/new_classifier.html", form)


@page(Right.SUBMIT, ("GET", "POST"))
def train_classifier(request: ActorRequest) -> HttpResponse:
    filled = ("pair", "dataset", "design", *SamplingFields().fields)
    initial = {name: request.GET[name] for name in filled if name in request.GET}
    form = Form(serializers.NewTraining, request, initial=initial, actor=request.actor)
    if made := form.submit(lambda **asked: services.train_classifier(by=request.actor, **asked)):
        return redirect("training", made.pk)
    folded = [field for field in form if field.name in SamplingFields._declared_fields]
    plain = [field for field in form if field not in folded]
    return form_page(
        request,
        "studies/train_classifier.html",
        form,
        plain=plain,
        folded=folded,
        is_unfolded=any(f.errors for f in folded),
        **plans.shown(form, serializers.NewTraining, plans.of_training, request.actor),
    )


@page(Right.READ)
def training(request: ActorRequest, id: UUID) -> HttpResponse:
    """Page of a training while it runs; then the classifier's own page takes over."""
    mine = Job.objects.visible_to(request.actor)
    rows = Training.objects.filter(job__in=mine).select_related("pair", "dataset", "job", "classifier")
    found = one(rows, id)
    if found.classifier:
        return redirect("classifier", found.classifier.pk)
    return render(request, "studies/training.html", {"training": found, **work_of(found.job)})


@page(Right.READ)
def classifier(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(Classifier.objects.visible_to(request.actor).select_related(*SHOWN), id)
    return render(request, "studies/classifier.html", content(found))


def as_file(found: Classifier) -> HttpResponse:
    """Answer the page of a classifier as one file."""
    name = file_name(found)
    return one_file("studies/classifier.html", content(found), entry=SCRIPT, sections=("classifier",), name=name)


def content(found: Classifier) -> dict[str, Any]:
    """Return the content of a classifier's page."""
    training = getattr(found, "training", None)
    design = found.card.get("design", OURS)
    own, rules = rule_of(design), [rule for rule in found.card.get("sweep", {}) if reading.asking(rule)]
    return {
        "entry": found,
        "card": found.card,
        "training": training,
        "verdict": reading.verdict_of_classifier(found),
        "rules": rules,
        "own_rule": own if own in rules else next(iter(rules), ""),
        "design": DESIGNS[design],
        "sharing": sharing_sentence(found.card),
        "predicted": sorted(reading.predicted_in(found.card).items(), key=lambda row: -(row[1] or 0)),
        "comparison": reading.comparison_with(found),
        "page": {
            "card": found.card,
            "strategies": {rule: reading.asking(rule) for rule in rules},
            "levels": reading.levels(found.card),
            "lines": lines(training.job) if training else [],
        },
    }
