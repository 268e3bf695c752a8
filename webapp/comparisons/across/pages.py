"""Pages across comparisons: all runs of a team as a table with charts, and one pair over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.comparisons.across import charts, columns, filters, history, naming, saved, serializers
from webapp.comparisons.across.cells import RunTable
from webapp.comparisons.across.charts import Group
from webapp.comparisons.models import Conditions, SavedView
from webapp.core.forms import Form
from webapp.core.pages import one, page, paged
from webapp.entries.views import to_bin
from webapp.registry.models import Pair

MOST_CONDITIONS = 1000


@page(Right.READ)
def runs(request: ActorRequest) -> HttpResponse:
    asked = filters.sound(request.GET)
    known = Conditions.objects.visible_to(request.actor).select_related("pair", "dataset").order_by("-created")
    own = (field.name for field in Conditions._meta.concrete_fields)
    known = list(known.only(*own, "pair__name", "dataset__name")[:MOST_CONDITIONS])
    rows = filters.runs(request.actor)
    others = {n: v for n, v in asked.items() if n not in filters.RANGES and n != "conditions"}
    outside = filters.filtered(rows, others)
    found = charts.groups(charts.counted(outside) if others else charts.counted_all(request.actor), known)
    shown = columns.chosen(request.GET.getlist("column"))
    wanted = filters.ordered(filters.filtered(rows, asked), request.GET.get("ordering", ""))
    on_page = paged(request, wanted)
    kept = {name: values for name, values in request.GET.lists() if name not in ("conditions", "page")}
    alike = f"?{urlencode({**kept, 'conditions': ''}, doseq=True)}"  # an id follows
    table = RunTable(shown, {group.conditions.pk: group for group in found}, alike)
    chart = _chart(request, asked, outside, found)
    context = {
        "asked": asked,
        "choices": _choices(known),
        "columns": [(column, column in shown) for column in columns.COLUMNS.values()],
        "shown": shown,
        "rows": table.rows(on_page["rows"], naming.names_of(on_page["rows"])),
        "list": on_page,
        "ranges": _ranges(asked),
        "groups": found,
        "differences": charts.differences(found),
        "views": SavedView.objects.visible_to(request.actor).kept().order_by("name"),
        "query": request.GET.urlencode(),
        **chart,
        "alike": table.choices(chart["group"]),
        **_addresses(request, asked),
    }
    return render(request, "comparisons/runs.html", context)


@page(Right.READ)
def pair_history(request: ActorRequest, id: UUID) -> HttpResponse:
    pair = one(Pair.objects.visible_to(request.actor).select_related("target", "draft"), id)
    rows = filters.runs(request.actor).filter(comparison__pair=pair)
    asked = history.questions(rows)
    known = {question.digest: question for question in asked}
    chosen = known.get(request.GET.get("question", "")) or (asked[0] if asked else None)
    shown = history.history(rows, chosen.digest) if chosen else None
    context = {
        "pair": pair,
        "questions": asked,
        "chosen": chosen,
        "history": shown,
        "sentence": history.in_words(shown) if shown else "",
        "api": request.build_absolute_uri(reverse("pairs-history", args=[pair.pk])),
    }
    return render(request, "comparisons/pair_history.html", context)


@page(Right.SUBMIT, ("POST",))
def save_view(request: ActorRequest) -> HttpResponse:
    form = Form(serializers.NewView, request, actor=request.actor)
    if view := form.submit(lambda **asked: saved.save(by=request.actor, **asked)):
        messages.success(request, f"The view {view.name} is kept for your team.")
        return redirect(f"{reverse('runs')}?{view.query}")
    return render(request, "comparisons/save_view.html", {"form": form}, status=422)


@page(Right.SUBMIT, ("POST",))
def bin_view(request: ActorRequest, id: UUID) -> HttpResponse:
    view = one(SavedView.objects.visible_to(request.actor), id)
    return to_bin(request, view, undo=reverse("restore-view", args=[id]), back="runs", called=f"The view {view.name}")


@page(Right.SUBMIT, ("POST",))
def restore_view(request: ActorRequest, id: UUID) -> HttpResponse:
    view = one(SavedView.objects.visible_to(request.actor), id)
    saved.restore(view=view, by=request.actor)
    return redirect(f"{reverse('runs')}?{view.query}")


def _choices(known: Sequence[Conditions]) -> dict[str, list[tuple[str, str]]]:
    """Choices of the filters: the parts that this team's runs are made of."""
    found: dict[str, dict[str, str]] = {"pair": {}, "dataset": {}, "device": {}}
    for conditions in known:
        if conditions.pair:
            found["pair"][str(conditions.pair_id)] = conditions.pair.name
        found["dataset"][str(conditions.dataset_id)] = conditions.dataset.name
        found["device"][conditions.device] = conditions.device
    named = {name: sorted(there.items(), key=lambda pair: pair[1]) for name, there in found.items()}
    fields = filters.RunFilter.base_filters
    for name in ("strategy", "state", "exactness"):
        named[name] = [(value, str(title)) for value, title in fields[name].extra["choices"]]
    return named


def _ranges(asked: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"column": axis, "from": asked.get(f"{axis.name}_from", ""), "to": asked.get(f"{axis.name}_to", "")}
        for axis in columns.RANGED
    ]


def _chart(request: ActorRequest, asked: Mapping[str, Any], rows: Any, found: Sequence[Group]) -> dict[str, Any]:
    cost = request.GET.get("cost", "")
    cost = cost if cost in columns.COSTS else next(iter(columns.COSTS))
    by_id = {str(group.conditions.pk): group for group in found}
    group = by_id.get(str(asked.get("conditions", ""))) or (found[0] if found and "conditions" not in asked else None)
    if group is None:
        return {"group": None, "cost": cost, "costs": columns.COSTS}
    chart = charts.drawn(rows, group.conditions.pk, cost, noisy_too=asked.get("noisy") == "true")
    return {"group": group, "cost": cost, "costs": columns.COSTS, "chart": chart, "in_words": charts.in_words(chart)}


def _addresses(request: ActorRequest, asked: Mapping[str, Any]) -> dict[str, str]:
    """Addresses at which a script finds the same rows."""
    ordering = request.GET.get("ordering", "")
    kept = {**asked, **({"ordering": ordering} if ordering in filters.ORDERINGS else {})}
    query = f"?{urlencode(kept)}" if kept else ""
    return {
        "api": request.build_absolute_uri(reverse("runs-list")) + query,
        "csv": reverse("runs-csv") + query,
    }
