"""The page of one comparison: complete HTML first; what the socket brings is added by the browser."""

from __future__ import annotations

from collections import Counter
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.gzip import gzip_page

from webapp.accounts.asked import Asked
from webapp.accounts.rights import Right
from webapp.comparisons.models import Comparison, Run, Sample
from webapp.comparisons.report import names_of, pinned, so_far
from webapp.comparisons.what_if.asking import knobs, refusal
from webapp.core.pages import one, page
from webapp.core.problems import Problem
from webapp.core.views import of_problem
from webapp.live.redaction import shown_by, without_words
from webapp.live.watch import Frame, Watch, row, status_of
from webapp.sharing import services as sharing
from webapp.sharing.models import Share

DRAWN = (
    "prompt__number", "repeat", "run__number", "created", "finished", "last_seq", "new_tokens", "tokens_per_s",
    "numbers",
)  # fmt: skip
PARTS = {"verdict": "live/_verdict.html", "what-if": "live/_what_if.html"}  # asked for anew while the page stays
DASHES = ("", "dash-2nd", "dash-3rd", "dash-4th")  # what they look like stands in app.css
MOST_EVENTS = 20_000  # sent with a page; of longer texts it asks for what it shows
LONGEST_PROMPT = 600  # characters shown before the text; the end of a prompt is what its continuation follows


@gzip_page
@page(Right.READ)
def comparison(request: Asked, id: UUID) -> HttpResponse:
    rows = Comparison.objects.visible_to(request.actor).select_related("pair", "dataset", "job", "created_by")
    found = one(rows, id)
    roads = {
        "socket": f"/ws/comparisons/{found.pk}/",
        "poll": reverse("comparisons-events", args=[found.pk]),
        "what_if": reverse("comparisons-what-if", args=[found.pk]),
    }
    return _show(request, found, roads)


@gzip_page
@never_cache
def shared(request: HttpRequest, secret: str) -> HttpResponse:
    """The same page for whoever has a link: read-only, and nothing else of the team."""
    roads = {
        "socket": f"/ws/shared/{secret}/",
        "poll": reverse("shared-events", args=[secret]),
        "what_if": reverse("shared-what-if", args=[secret]),
    }
    try:
        share = sharing.find(secret)
        return _show(request, share.comparison, roads, share)
    except Problem as problem:
        return of_problem(request, problem)


def _show(
    request: HttpRequest, comparison: Comparison, roads: dict[str, str], share: Share | None = None
) -> HttpResponse:
    report = so_far(comparison, pinned(comparison, request.GET.get("baseline", "")))
    status: Frame = {"t": "comparison", **status_of(comparison)}
    if share:
        status = shown_by(share.hides_texts)(status)
    context: dict[str, Any] = {"comparison": comparison, "report": report, "job": comparison.job, "share": share}
    context |= {"status": status, "is_final": comparison.job.is_final}
    context["baseline"] = next(row for row in report["strategies"] if row["label"] == report["baseline"])
    context["pinned"] = (
        "" if context["baseline"]["role"] == "baseline" else f"?{urlencode({'baseline': report['baseline']})}"
    )
    hits = any(row.get("hit_rate") is not None for row in report["strategies"])
    hardware = any(row["hardware"] for row in report["strategies"])
    context["shows"] = {"hits": hits, "hardware": hardware, "columns": 8 + hits + 2 * hardware}
    context["what_if"] = knobs({row["strategy"] for row in report["strategies"] if row["sample_count"]})
    if part := PARTS.get(request.GET.get("part", "")):
        return render(request, part, context)
    page = {**_page(comparison, report), **roads, "status": status}
    if share:
        page["frames"] = [shown_by(share.hides_texts)(frame) for frame in page["frames"]]
    page["hides_texts"] = bool(share and share.hides_texts)
    if share and share.hides_texts:
        page["prompts"] = [without_words(prompt) for prompt in page["prompts"]]
    context["refused"] = refusal(comparison) if comparison.job.is_final else None
    context |= {"page": page, "shown_label": _shown(report)}
    return render(request, "live/comparison.html", context)


def _shown(report: dict[str, Any]) -> str:
    """The label of the strategy whose text is shown first: the verdict's, or any that could be deployed."""
    rows = report["strategies"]
    return str(
        report["ranking"]["leader"] or next((r["label"] for r in rows if r["role"] == "ranked"), rows[0]["label"])
    )


def _page(comparison: Comparison, report: dict[str, Any]) -> dict[str, Any]:
    """What the browser starts from. The status was read before the samples: what ends between is told by the socket."""
    samples = Sample.objects.filter(run__comparison=comparison).select_related("run", "prompt").order_by("created")
    rows = list(samples.only(*DRAWN))
    runs = list(comparison.runs.all())
    names, dashes = names_of(run.label for run in runs), _dashes(runs)
    since = max([comparison.created, *(sample.finished for sample in rows if sample.finished)])
    return {
        "since": since.isoformat(),
        "samples": report["samples"],
        "repeats": comparison.repeats,
        "runs": [
            {
                "number": run.number,
                "label": run.label,
                "name": names[run.label],
                "strategy": run.strategy,
                "role": run.choice.spec.role,
                "dash": dashes[run.label],
            }
            for run in runs
        ],
        "prompts": [
            {"number": prompt.number, "category": prompt.category, "text": prompt.text[-LONGEST_PROMPT:]}
            for prompt in comparison.prompts
        ],
        "rows": [row(sample) for sample in rows],
        "frames": _frames(comparison, rows) if comparison.job.is_final else [],
    }


def _dashes(runs: list[Run]) -> dict[str, str]:
    """How a run's line is dashed: those of one strategy have its colour, so by dashes they are told apart."""
    kin: Counter[str] = Counter()
    dashes = {}
    for run in runs:
        is_ranked = run.choice.spec.role in ("baseline", "ranked")
        dashes[run.label] = DASHES[kin[run.strategy] % len(DASHES)] if is_ranked else "dash-unranked"
        kin[run.strategy] += 1
    return dashes


def _frames(comparison: Comparison, rows: list[Sample]) -> list[Frame]:
    """The traces that are looked at first, so that the page need not ask for them once it knows which they are."""
    heat = [sample for sample in rows if (sample.prompt_id, sample.repeat) == (rows[-1].prompt_id, rows[-1].repeat)]
    if sum(sample.last_seq or 0 for sample in heat) > MOST_EVENTS:
        return []
    return Watch(comparison.pk).traces(heat)
