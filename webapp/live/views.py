"""The page of one comparison: complete HTML first; what the socket brings is added by the browser."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from webapp.accounts.rights import Right
from webapp.comparisons.models import Comparison, Sample
from webapp.comparisons.report import so_far
from webapp.core.pages import one, page
from webapp.live.watch import row, status_of

LONGEST_PROMPT = 600  # characters shown before the text; the end of a prompt is what its continuation follows


@page(Right.READ)
def comparison(request: HttpRequest, id: UUID) -> HttpResponse:
    rows = Comparison.objects.visible_to(request.actor).select_related("pair", "dataset", "job", "created_by")
    found = one(rows, id)
    report = so_far(found)
    context: dict[str, Any] = {"comparison": found, "report": report, "job": found.job, "is_final": found.job.is_final}
    if request.GET.get("part") == "verdict":
        return render(request, "live/_verdict.html", context)
    status = status_of(found)
    context |= {"status": status, "runs": found.runs.all(), "page": _page(found, report, status)}
    context["shown_label"] = _shown(report)
    return render(request, "live/comparison.html", context)


def _shown(report: dict[str, Any]) -> str:
    """Whose text is shown first: the fastest of those one could deploy."""
    ranked = [row for row in report["strategies"] if row["role"] == "ranked"] or report["strategies"]
    return str(max(ranked, key=lambda row: row["speedup"]["median"] if row["speedup"] else 0.0)["label"])


def _page(comparison: Comparison, report: dict[str, Any], status: dict[str, Any]) -> dict[str, Any]:
    """What the browser starts from. The status was read before the samples: what ends between is told by the socket."""
    samples = Sample.objects.filter(run__comparison=comparison).select_related("run", "prompt").order_by("created")
    rows = list(samples)
    since = max([comparison.created, *(sample.finished for sample in rows if sample.finished)])
    return {
        "socket": f"/ws/comparisons/{comparison.pk}/",
        "poll": reverse("comparisons-events", args=[comparison.pk]),
        "since": since.isoformat(),
        "status": status,
        "report": report,
        "samples": report["samples"],
        "repeats": comparison.repeats,
        "runs": [
            {"number": run.number, "label": run.label, "strategy": run.strategy, "role": run.choice.spec.role}
            for run in comparison.runs.all()
        ],
        "prompts": [
            {"number": prompt.number, "category": prompt.category, "text": prompt.text[-LONGEST_PROMPT:]}
            for prompt in comparison.prompts
        ],
        "rows": [row(sample) for sample in rows],
    }
