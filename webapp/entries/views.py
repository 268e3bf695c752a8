"""Pages of the bin: lists with it or without, and the buttons that send entries there and back."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.core.pages import one, page
from webapp.entries import services
from webapp.entries.models import Entry, kinds


def in_bin(request: HttpRequest) -> bool:
    return request.GET.get("bin") == "1"


def listed(request: ActorRequest, rows: Any) -> Any:
    """Rows that the actor may see: those in the bin if `?bin=1` asks for them, else all others."""
    visible = rows.visible_to(request.actor)
    return visible.binned() if in_bin(request) else visible.kept()


@page(Right.SUBMIT, ("POST",))
def bin(request: ActorRequest, kind: str, id: UUID) -> HttpResponse:
    """Bin an entry, offer to undo that, and go back to the list."""
    entry = _entry(request, kind, id)
    services.bin(entry=entry, by=request.actor)
    messages.success(request, f"{entry.name} is in the bin.", extra_tags=reverse("restore", args=[kind, id]))
    return redirect(kind)


@page(Right.SUBMIT, ("POST",))
def restore(request: ActorRequest, kind: str, id: UUID) -> HttpResponse:
    entry = _entry(request, kind, id)
    services.restore(entry=entry, by=request.actor)
    messages.success(request, f"{entry.name} is back.")
    return redirect(kind)


def _entry(request: ActorRequest, address: str, id: UUID) -> Entry:
    kind = next(kind for kind in kinds() if kind.address == address)
    found: Entry = one(kind.objects.visible_to(request.actor), id)
    return found
