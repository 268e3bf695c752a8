"""The documentation as pages of the lab. Everybody may read it: it says nothing about this lab."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from webapp.docs import library


def address(name: str) -> str:
    return reverse("docs") if name == library.FIRST else reverse("docs-page", args=[name])


@require_safe
def first(request: HttpRequest) -> HttpResponse:
    return _page(request, library.FIRST)


@require_safe
def one(request: HttpRequest, page: str) -> HttpResponse | FileResponse:
    if page == library.FIRST:
        return redirect("docs")
    if page in library.names():
        return _page(request, page)
    if path := library.file(page):
        return FileResponse(path.open("rb"), content_type="text/plain; charset=utf-8")
    raise Http404


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """All sections of all pages, for the search in the browser."""
    return JsonResponse({"sections": library.index(address)})


def _page(request: HttpRequest, name: str) -> HttpResponse:
    page = library.read(name, address)
    sections = [(s.title, [(e.title, address(e.name), e.name == name) for e in s.entries]) for s in library.contents()]
    return render(request, "docs/page.html", {"page": page, "sections": sections, "index": reverse("docs-index")})
