"""Pages of links to a comparison: the one that makes and revokes them, and the one that a link opens."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page

from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.comparisons.models import Comparison
from webapp.comparisons.page import as_file, show
from webapp.comparisons.report import pinned
from webapp.comparisons.what_if.recorded import version
from webapp.core.caching import cached
from webapp.core.forms import Form
from webapp.core.pages import form_page, listing, one, page
from webapp.core.problems import Problem
from webapp.core.proxies import address_of
from webapp.core.views import of_problem
from webapp.sharing import serializers, services
from webapp.sharing.models import Share

FILE_KEPT_S = 60  # the shortest time in which nobody minds that a new name is not shown


@page(Right.SUBMIT, ("GET", "POST"))
def shares(request: ActorRequest, id: UUID) -> HttpResponse:
    comparison = one(Comparison.objects.visible_to(request.actor), id)
    form = Form(serializers.NewLink, request, initial={"days": 30})
    link = ""
    # The link keeps the baseline of the page that it was made on.
    query = f"?{urlencode({'baseline': request.GET['baseline']})}" if "baseline" in request.GET else ""
    if made := form.submit(lambda **asked: services.share(comparison=comparison, by=request.actor, **asked)):
        link = request.build_absolute_uri(reverse("shared", args=[made[1]])) + query
    context = {
        "comparison": comparison,
        "query": query,
        "link": link,
        "list": listing(
            request,
            comparison.shares.open().select_related("created_by"),
            search=("created_by__username",),
            ordering=("created", "expires", "hides_texts"),
        ),
        "api": reverse("comparisons-shares", args=[id]),
    }
    return form_page(request, "sharing/shares.html", form, **context)


@page(Right.SUBMIT, ("POST",))
def revoke_share(request: ActorRequest, id: UUID) -> HttpResponse:
    share = one(Share.objects.visible_to(request.actor), id)
    services.revoke(share=share, by=request.actor)
    messages.success(request, "The link is revoked; it shows nothing any more.")
    return redirect("shares", share.comparison_id)


@gzip_page
@never_cache
def shared(request: HttpRequest, secret: str) -> HttpResponse:
    """The comparison's page for whoever has the link: read-only, and nothing else of the team."""
    addresses = {
        "socket": f"/ws/shared/{secret}/",
        "poll": reverse("shared-events", args=[secret]),
        "file": reverse("shared-file", args=[secret]),
        "what_if": reverse("shared-what-if", args=[secret]),
    }
    try:
        share = services.opened(secret, address_of(request))
        return show(request, share.comparison, addresses, share)
    except Problem as problem:
        return of_problem(request, problem)


@never_cache
def shared_file(request: HttpRequest, secret: str) -> HttpResponse:
    """The shared page as one file, as redacted as the page. Each minute it is made once."""
    try:
        share = services.opened(secret, address_of(request))
        baseline = pinned(share.comparison, request.GET.get("baseline", ""))
        key = f"shared-file:{share.pk}:{version(share.comparison)}:{baseline}"
        return cached(key, lambda: as_file(share.comparison, baseline, share), FILE_KEPT_S)
    except Problem as problem:
        return of_problem(request, problem)
