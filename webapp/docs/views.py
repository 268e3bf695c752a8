"""The documentation as pages of the lab. Everybody may read it: it says nothing about this lab."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from webapp.docs import library


@require_safe
def show(request: HttpRequest, page: str = library.FIRST) -> HttpResponse | FileResponse:
    if page in library.names():
        context = {"page": library.read(page), "name": page, "sections": library.contents()}
        return render(request, "docs/page.html", context)
    if path := library.file(page):
        return FileResponse(path.open("rb"), content_type="text/plain; charset=utf-8")
    raise Http404
