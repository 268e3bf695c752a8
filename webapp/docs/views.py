"""The documentation as pages of the lab. Everybody may read it: it says nothing about this lab."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from webapp.docs import FIRST, contents, library, names


@require_safe
def show(request: HttpRequest, page: str = FIRST) -> HttpResponse | FileResponse:
    if page in names():
        context = {"page": library.read(page), "name": page, "sections": contents()}
        return render(request, "docs/page.html", context)
    if path := library.file(page):
        return FileResponse(path.open("rb"), content_type="text/plain; charset=utf-8")
    raise Http404
