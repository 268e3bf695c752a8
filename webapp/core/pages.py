"""Helpers of page views: the check of rights, forms, and lists that the server filters, sorts and pages."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_required
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from webapp.core import views
from webapp.core.forms import Form
from webapp.core.problems import Problem
from webapp.core.reading import counted_part, part

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
    return Listing(asked=asked, choices=choices, **paged(request, queryset))


def paged(request: HttpRequest, queryset: QuerySet[Any]) -> dict[str, Any]:
    """Rows of the page that the query asks for, how many there are in all, and the pages beside it. The last page
    stands for those beyond, the first for nonsense."""
    asked = request.GET.get("page", "")
    number = max(int(asked), 1) if asked.isdecimal() and len(asked) < 10 else 1
    rows, total = counted_part(queryset, (number - 1) * PAGE_ROWS, number * PAGE_ROWS)
    last = max(-(-total // PAGE_ROWS), 1)
    if number > last:
        number, rows = last, part(queryset, (last - 1) * PAGE_ROWS, last * PAGE_ROWS)
    return {
        "rows": rows,
        "total": total,
        "previous": number - 1 if number > 1 else None,
        "following": number + 1 if number < last else None,
    }
