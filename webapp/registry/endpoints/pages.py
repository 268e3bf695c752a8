"""Pages of servers."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.core.forms import Form
from webapp.core.pages import form_page, listing, one, page
from webapp.entries.views import in_bin, listed
from webapp.jobs import line
from webapp.registry.endpoints import services
from webapp.registry.endpoints.serializers import NewEndpoint, NewKey
from webapp.registry.models import Endpoint, Readiness

MOST_MADE = 20  # comparisons on the page of a server


@page(Right.READ)
def endpoints(request: ActorRequest) -> HttpResponse:
    rows = listed(request, Endpoint.objects.select_related("target"))
    found = listing(request, rows, search=("name", "url"), filters={"state": Readiness.values})
    return render(request, "registry/endpoints.html", {"list": found, "kind": "endpoints", "in_bin": in_bin(request)})


@page(Right.READ)
def endpoint(request: ActorRequest, id: UUID) -> HttpResponse:
    rows = Endpoint.objects.visible_to(request.actor).select_related("job", "target", "created_by")
    found = one(rows, id)
    place = line.place(found.job) if found.job and not found.job.is_final else None
    made = found.runs.kept().order_by("-created").select_related("comparison")
    asked = list(dict.fromkeys(run.comparison for run in made[: 4 * MOST_MADE]))[:MOST_MADE]
    context = {"entry": found, "place": place, "made": asked, "form": Form(NewKey)}
    return render(request, "registry/endpoint.html", context)


@page(Right.SUBMIT, ("GET", "POST"))
def new_endpoint(request: ActorRequest) -> HttpResponse:
    form = Form(NewEndpoint, request, actor=request.actor)
    if made := form.submit(lambda **asked: services.add_endpoint(by=request.actor, **asked)):
        messages.success(request, f"{made.name} is registered. A worker asks what it serves.")
        return redirect("endpoint", made.pk)
    return form_page(request, "registry/new_endpoint.html", form)


@page(Right.SUBMIT, ("POST",))
def check_endpoint(request: ActorRequest, id: UUID) -> HttpResponse:
    services.check(endpoint=one(Endpoint.objects.visible_to(request.actor), id), by=request.actor)
    return redirect("endpoint", id)


@page(Right.SUBMIT, ("POST",))
def set_key(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(Endpoint.objects.visible_to(request.actor), id)
    form = Form(NewKey, request)
    if form.submit(lambda key: services.set_key(endpoint=found, key=key, by=request.actor) or found):
        messages.success(request, f"The key of {found.name} is set.")
    else:
        messages.error(request, f"Nothing was saved. {form.refusal}")
    return redirect("endpoint", id)


@page(Right.SUBMIT, ("POST",))
def drop_key(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(Endpoint.objects.visible_to(request.actor), id)
    services.drop_key(endpoint=found, by=request.actor)
    messages.success(request, f"The key of {found.name} is deleted.")
    return redirect("endpoint", id)
