"""The page that makes and revokes links to a comparison."""

from __future__ import annotations

from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from webapp.accounts.asked import Asked
from webapp.accounts.rights import Right
from webapp.comparisons.models import Comparison
from webapp.core.forms import Form
from webapp.core.pages import listing, one, page
from webapp.sharing import serializers, services
from webapp.sharing.models import Share


@page(Right.SUBMIT, ("GET", "POST"))
def shares(request: Asked, id: UUID) -> HttpResponse:
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
        "form": form,
        "link": link,
        "list": listing(
            request,
            comparison.shares.open().select_related("created_by"),
            search=("created_by__username",),
            ordering=("created", "expires", "hides_texts"),
        ),
        "api": reverse("comparisons-shares", args=[id]),
    }
    return render(request, "sharing/shares.html", context, status=422 if form.errors else 200)


@page(Right.SUBMIT, ("POST",))
def revoke_share(request: Asked, id: UUID) -> HttpResponse:
    share = one(Share.objects.visible_to(request.actor), id)
    services.revoke(share=share, by=request.actor)
    messages.success(request, "The link is revoked; it shows nothing any more.")
    return redirect("shares", share.comparison_id)
