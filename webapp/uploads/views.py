"""Page of a team's uploads."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.db.models import Sum
from django.http import HttpResponse
from django.shortcuts import redirect, render

from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.core.pages import listing, one, page
from webapp.uploads import services
from webapp.uploads.models import Upload


@page(Right.READ)
def uploads(request: ActorRequest) -> HttpResponse:
    rows = Upload.objects.visible_to(request.actor).annotate(size=Sum("files__size")).select_related("created_by")
    found = listing(request, rows, filters={"state": Upload.State.values}, ordering=("created", "name", "size"))
    context = {"list": found, "used": services.used(found.rows), "kept_days": services.KEPT_UNUSED.days}
    return render(request, "uploads/uploads.html", context)


@page(Right.SUBMIT, ("POST",))
def discard_upload(request: ActorRequest, id: UUID) -> HttpResponse:
    found = one(Upload.objects.visible_to(request.actor), id)
    services.discard(upload=found, by=request.actor)
    messages.success(request, f"{found.name} is deleted.")
    return redirect("uploads")
