"""Page of the runs of all comparisons of a team, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.comparisons.across import columns, filters
from webapp.comparisons.across.cells import RunTable, letter
from webapp.comparisons.across.rows import read
from webapp.comparisons.models import Conditions
from webapp.core.pages import page, paged

MOST_CONDITIONS = 1000


@page(Right.READ)
def runs(request: ActorRequest) -> HttpResponse:
    asked = filters.sound(request.GET)
    own = (field.name for field in Conditions._meta.concrete_fields)
    known = Conditions.objects.visible_to(request.actor).select_related("pair", "dataset").order_by("-created", "-pk")
    newest = list(known.only(*own, "pair__name", "dataset__name")[:MOST_CONDITIONS])
    shown = columns.chosen(request.GET.getlist("column"))
    wanted = filters.filtered(filters.runs(request.actor), asked)
    on_page = paged(request, filters.ordered(wanted, request.GET.get("ordering", "")).only("pk"))
    rows = read([run.pk for run in on_page["rows"]])
    kept = {name: values for name, values in request.GET.lists() if name not in ("conditions", "page")}
    alike = f"?{urlencode({**kept, 'conditions': ''}, doseq=True)}"  # an id follows
    table = RunTable(shown, {one.pk: (letter(at), one) for at, one in enumerate(reversed(newest))}, alike)
    context = {
        "asked": asked,
        "choices": _choices(newest),
        "columns": [(column, column in shown) for column in columns.COLUMNS.values()],
        "shown": shown,
        "rows": table.written(rows),
        "list": on_page,
        "ranges": _ranges(asked),
        "alike": next((one for one in newest if str(one.pk) == str(asked.get("conditions"))), None),
        "is_mixed": len({row["figures__conditions_id"] for row in rows} - {None}) > 1,
        **_addresses(request, asked),
    }
    return render(request, "comparisons/runs.html", context)


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
        {"column": each, "from": asked.get(f"{each.name}_from", ""), "to": asked.get(f"{each.name}_to", "")}
        for each in columns.RANGED
    ]


def _addresses(request: ActorRequest, asked: Mapping[str, Any]) -> dict[str, str]:
    """Addresses at which a script finds the same rows."""
    ordering = request.GET.get("ordering", "")
    kept = {**asked, **({"ordering": ordering} if ordering in filters.ORDERINGS else {})}
    query = f"?{urlencode(kept)}" if kept else ""
    return {
        "api": request.build_absolute_uri(reverse("runs-list")) + query,
        "csv": reverse("runs-csv") + query,
    }
