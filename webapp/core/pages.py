"""Helpers of page views: the check of rights, forms, and lists that the server filters, sorts and pages."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.core import views
from webapp.core.forms import Form
from webapp.core.problems import Problem
from webapp.core.reading import part

PAGE_ROWS = 50

Page = Callable[..., HttpResponse]


def page(right: int, methods: Sequence[str] = ("GET",)) -> Callable[[Page], Page]:
    """Let in signed-in people who have this right; show every Problem as a page."""

    def decorate(view: Page) -> Page:
        @functools.wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if request.method not in (*methods, "HEAD"):
                refusal = views.refused(
                    request, 405, "method-not-allowed", f"This address takes {' and '.join(methods)}."
                )
                refusal["Allow"] = ", ".join(methods)
                return refusal
            try:
                request.actor.require(right)  # type: ignore[attr-defined]
                return view(request, *args, **kwargs)
            except Problem as problem:
                return views.of_problem(request, problem)

        guarded.methods = tuple(methods)  # type: ignore[attr-defined]
        return login_required(guarded)

    return decorate


def one(queryset: QuerySet[Any], id: Any) -> Any:
    found = queryset.filter(pk=id).first()
    if found is None:
        raise Http404
    return found


def form_page(request: HttpRequest, template: str, form: Form, **more: Any) -> HttpResponse:
    """Show a form; with 422 if what was sent is refused."""
    return render(request, template, {"form": form, **more}, status=422 if form.errors else 200)


@dataclass(frozen=True, slots=True)
class Listing:
    rows: Any
    total: int
    asked: str
    choices: dict[str, tuple[str, list[str]]]  # filter → (chosen value, possible values)
    previous: int | None
    following: int | None
    first: int


def listing(
    request: HttpRequest,
    queryset: QuerySet[Any],
    *,
    search: Sequence[str] = ("name",),
    ordering: Sequence[str] = ("created", "name"),
    filters: dict[str, list[str]] | None = None,
    through: dict[str, str] | None = None,
    usual: str = "-created",
) -> Listing:
    """One page of rows, as the query asks. Nonsense in the query is ignored."""
    asked = request.GET.get("q", "").replace("\0", "")[:100]
    if asked and search:
        queryset = queryset.filter(functools.reduce(Q.__or__, (Q(**{f"{name}__icontains": asked}) for name in search)))
    choices = {}
    for name, allowed in (filters or {}).items():
        chosen = request.GET.get(name, "")
        chosen = chosen if chosen in allowed else ""
        choices[name] = (chosen, allowed)
        if chosen:
            queryset = queryset.filter(**{(through or {}).get(name, name): chosen})
    order = request.GET.get("ordering", "")
    known = order.lstrip("-") in ordering and not order.startswith("--")
    queryset = queryset.order_by(order if known else usual, "pk")
    pages = Paginator(queryset, PAGE_ROWS)
    now = pages.get_page(request.GET.get("page"))
    return Listing(
        rows=part(queryset, (now.number - 1) * PAGE_ROWS, now.number * PAGE_ROWS),
        total=pages.count,
        asked=asked,
        choices=choices,
        previous=now.previous_page_number() if now.has_previous() else None,
        following=now.next_page_number() if now.has_next() else None,
        first=now.start_index(),
    )
