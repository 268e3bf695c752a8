"""The page of one comparison, for its team and for whoever has a link. The HTML is complete; a socket brings news."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.gzip import gzip_page

from decoding.public import ONE, Load, load_of
from webapp.accounts.asked import Asked
from webapp.accounts.rights import Right
from webapp.comparisons import frames
from webapp.comparisons.elsewhere import advice
from webapp.comparisons.frames import Frame
from webapp.comparisons.models import Comparison, Run, Sample
from webapp.comparisons.redaction import shown_by, without_categories, without_words
from webapp.comparisons.report import names_of, pinned, so_far, usual_baseline
from webapp.comparisons.what_if.asking import knobs
from webapp.comparisons.what_if.grid import grids, knobs_of
from webapp.comparisons.what_if.refusals import refusal
from webapp.core.naming import file_name
from webapp.core.one_file import one_file
from webapp.core.pages import one, page
from webapp.core.problems import Conflict

DRAWN = (
    "prompt__number", "repeat", "run__number", "run__concurrency", "run__rate", "created", "finished", "last_seq",
    "new_tokens", "tokens_per_s", "numbers",
)  # fmt: skip
PARTS = {  # an open page asks for these
    "verdict": "comparisons/_verdict.html",
    "what-if": "comparisons/_what_if.html",
    "downloads": "comparisons/_downloads.html",
}
FILES = (  # and their routes; relative to a baseline
    ("samples as CSV", "csv"),
    ("report as JSON", "report"),
    ("the worst prompts", "worst"),
)
TRACES = (("rounds as CSV", "rounds"), ("rounds as Parquet", "parquet"))
SCRIPT = "js/pages/comparison.js"
MOST_EVENTS_IN_FILE = 200_000
DASHES = ("", "dash-2nd", "dash-3rd", "dash-4th")  # app.css draws them
MOST_EVENTS = 20_000  # sent with a page; it asks for longer traces when it shows them
LONGEST_PROMPT = 600  # characters shown before the text: the end of the prompt, which the text continues


class Link(Protocol):
    """A link that shows the page to people outside the team."""

    @property
    def hides_texts(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A team's own file: without buttons and links of its lab, as a shared page, but with texts and notes."""

    hides_texts: bool = False
    is_own: bool = True


@gzip_page
@page(Right.READ)
def comparison(request: Asked, id: UUID) -> HttpResponse:
    rows = Comparison.objects.visible_to(request.actor).select_related("pair", "dataset", "job", "created_by")
    found = one(rows, id)
    addresses = {
        "socket": f"/ws/comparisons/{found.pk}/",
        "poll": reverse("comparisons-events", args=[found.pk]),
        "file": reverse("comparisons-file", args=[found.pk]),
        "what_if": reverse("comparisons-what-if", args=[found.pk]),
        "rounds": reverse("comparison-rounds", args=[found.pk]),
    }
    return show(request, found, addresses)


def show(
    request: HttpRequest, comparison: Comparison, addresses: dict[str, str], share: Link | None = None
) -> HttpResponse:
    """Render the page, or the part of it that `?part=` names. `addresses` say where the page asks for more, and where
    it is one file."""
    report = so_far(comparison, pinned(comparison, request.GET.get("baseline", "")))
    context = _context(comparison, report, share)
    context["downloads"] = _downloads(context, addresses["file"])
    if part := PARTS.get(request.GET.get("part", "")):
        return render(request, part, context)
    context["refused"] = refusal(comparison) if comparison.job.is_final else None
    context |= _with_data(context, {**addresses, "frames": _first_traces(comparison)})
    return render(request, "comparisons/comparison.html", context)


def as_file(comparison: Comparison, baseline: str, share: Link | None) -> HttpResponse:
    """Answer the page as one file, with as many races as it may hold."""
    if not comparison.job.is_final:
        raise Conflict("This comparison has not ended, so its page still changes.", hint="Download it later.")
    report = so_far(comparison, pinned(comparison, baseline))
    context = _context(comparison, report, share or OwnFile())
    answers = grids(comparison)
    context |= {"what_if": knobs_of(answers, context["what_if"]), "refused": refusal(comparison)}
    context |= _with_data(context, {"frames": _all_traces(comparison), "is_whole": True, "what_if": answers})
    load = ("comparison-load",) if context["is_loaded"] else ()
    sections = ("text", "comparison-top", *load, "comparison")
    name = file_name(comparison)
    return one_file("comparisons/comparison.html", context, entry=SCRIPT, sections=sections, name=name)


def _context(comparison: Comparison, report: dict[str, Any], share: Link | None) -> dict[str, Any]:
    status = frames.status(comparison)
    if share and share.hides_texts:
        report = without_categories(report)
    context = {"comparison": comparison, "job": comparison.job, "is_final": comparison.job.is_final, "share": share}
    context["status"] = shown_by(share.hides_texts)(status) if share else status
    return {**context, **_of_report(comparison, report)}


def _with_data(context: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Data that the page's script starts from."""
    report, share = context["report"], context["share"]
    data = {**_data(context["comparison"], report), "status": context["status"], "hides_texts": False, **more}
    if share:
        _redact(data, share.hides_texts)
    return {"page": data, "shown_label": _shown(report)}


def _of_report(comparison: Comparison, report: dict[str, Any]) -> dict[str, Any]:
    """The report, and the parts of the table that its numbers call for: rows of a load fastest first."""
    runs = list(comparison.runs.all())
    dashes, usual = _dashes(runs), usual_baseline(runs)
    rows = [{**row, "dash": dashes[row["label"]], **_ranks(row, report)} for row in report["strategies"]]
    rows.sort(key=lambda row: -(row["speedup"] or {"median": 0})["median"])
    baseline = next(row for row in rows if row["is_baseline"])
    hits = any(row.get("hit_rate") is not None for row in rows)
    hardware = any(row["hardware"] for row in rows)
    ran = {row["strategy"] for row in rows if row["sample_count"] and row["concurrency"] == 1}
    return {
        "report": report,
        "rows": rows,
        "usual": usual,
        "has_servers": any(row["role"] == "server" for row in rows),
        "baseline": baseline,
        "baselines": _rows_at(load_of(report["loads"][0]), report["strategies"]),
        "pinned": "" if report["baseline"] == usual else f"?{urlencode({'baseline': report['baseline']})}",
        "shows": {"hits": hits, "hardware": hardware, "columns": 8 + hits + 2 * hardware},
        "what_if": knobs(comparison, ran),
        "is_loaded": _is_loaded(report),
        "advice": advice(report, runs) if comparison.job.is_final else [],
        "by_load": [{**of, "load": load_of(of), "rows": _rows_at(load_of(of), rows)} for of in report["loads"]],
    }


def _ranks(row: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, bool]:
    """Whether a row is shown to be the fastest of its load, or may be as fast as that one."""
    load = next(load for load in report["loads"] if load_of(load) == load_of(row))
    return {"is_fastest": row["label"] == load["fastest"], "may_be_as_fast": row["label"] in load["ranking"]["as_fast"]}


def _downloads(context: Mapping[str, Any], file: str) -> list[tuple[str, str]]:
    comparison, query = context["comparison"], context["pinned"]
    is_ready = comparison.job.is_final and context["report"]["samples"]
    files = [("this page as one file", file + query)] if is_ready else []
    if context["share"]:
        return files
    shown = next((row["label"] for row in context["rows"] if row["role"] == "ranked"), context["baseline"]["label"])
    answers = reverse("comparisons-spec-bench", args=[comparison.pk]) + f"?{urlencode({'strategy': shown})}"
    return [
        *files,
        *((name, reverse(f"comparisons-{route}", args=[comparison.pk]) + query) for name, route in FILES),
        *((name, reverse(f"comparisons-{route}", args=[comparison.pk])) for name, route in TRACES),
        (f"{shown} for Spec-Bench", answers),
    ]


def _is_loaded(report: Mapping[str, Any]) -> bool:
    """Whether requests shared the machine at some load."""
    return any(load_of(load) != ONE for load in report["loads"])


def _rows_at(load: Load, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in rows if load_of(row) == load]


def _redact(data: dict[str, Any], hides_texts: bool) -> None:
    data["frames"] = [shown_by(hides_texts)(frame) for frame in data["frames"]]
    data["hides_texts"] = hides_texts
    if hides_texts:
        data["prompts"] = [without_words(prompt) for prompt in data["prompts"]]


def _shown(report: dict[str, Any]) -> str:
    """Label of the strategy whose text is shown first: the verdict's, else the first that could be deployed."""
    rows = report["strategies"]
    return str(
        report["ranking"]["leader"] or next((r["label"] for r in rows if r["role"] == "ranked"), rows[0]["label"])
    )


def _data(comparison: Comparison, report: dict[str, Any]) -> dict[str, Any]:
    """Data that the browser starts from. The status was read before it, so the socket tells what ends in between."""
    samples = Sample.objects.filter(run__comparison=comparison).select_related("run", "prompt").order_by("created")
    rows = list(samples.only(*DRAWN))
    since = max([comparison.created, *(sample.finished for sample in rows if sample.finished)])
    return {
        "since": since.isoformat(),
        "samples": report["samples"],
        "repeats": comparison.repeats,
        "is_loaded": _is_loaded(report),
        "runs": _runs(comparison, report),
        "prompts": _prompts(comparison, rows),
        "rows": [frames.row(sample) for sample in rows],
    }


def _prompts(comparison: Comparison, rows: Sequence[Sample]) -> list[dict[str, Any]]:
    """Return the end of each prompt: of a chat, as the target read it once its first sample is finished."""
    rendered = {sample.prompt.number: sample.numbers["rendered"] for sample in rows if sample.numbers.get("rendered")}
    return [
        {
            "number": prompt.number,
            "category": prompt.category,
            "text": rendered.get(prompt.number, prompt.text)[-LONGEST_PROMPT:],
            **({"turn": prompt.turn} if prompt.chat else {}),
        }
        for prompt in comparison.prompts
    ]


def _runs(comparison: Comparison, report: Mapping[str, Any]) -> list[dict[str, Any]]:
    runs = list(comparison.runs.all())
    names, dashes = names_of(run.label for run in runs), _dashes(runs)
    numbers = {run.label: run.number for run in runs}
    beside = {load_of(load): numbers[load["baseline"]] for load in report["loads"]}
    return [
        {
            "number": run.number,
            "label": run.label,
            "name": names[run.label],
            "strategy": run.strategy,
            "role": run.choice.spec.role,
            "concurrency": run.concurrency,
            "rate": run.rate,
            "recorded": run.recorded,
            "load": str(run.load),
            "baseline": beside[run.load],  # number of the run that it is compared with
            "dash": dashes[run.label],
        }
        for run in runs
    ]


def _dashes(runs: list[Run]) -> dict[str, str]:
    """Dash of each run's line. Runs of one strategy share its colour; dashes tell them apart, the same at all loads."""
    kin: dict[str, list[str]] = {}
    dashes = {}
    for run in runs:
        is_ranked = run.choice.spec.role in ("baseline", "ranked")
        known = kin.setdefault(run.strategy, [])
        if run.choice.settings not in known:
            known.append(run.choice.settings)
        dashes[run.label] = DASHES[known.index(run.choice.settings) % len(DASHES)] if is_ranked else "dash-unranked"
    return dashes


def _first_traces(comparison: Comparison) -> list[Frame]:
    """Traces of the prompt that is shown first, so that the page of an ended comparison need not ask for them."""
    rows = _samples(comparison) if comparison.job.is_final else []
    heat = [sample for sample in rows if (sample.prompt_id, sample.repeat) == (rows[-1].prompt_id, rows[-1].repeat)]
    if sum(sample.last_seq or 0 for sample in heat) > MOST_EVENTS:
        return []
    return frames.traces(heat, {sample.pk: 0 for sample in heat})


def _all_traces(comparison: Comparison) -> list[Frame]:
    """Traces of all prompts, or of the last ones that a file may hold: the page shows the last one first."""
    kept: list[Sample] = []
    count = 0
    for sample in reversed(_samples(comparison)):
        count += sample.last_seq or 0
        if count > MOST_EVENTS_IN_FILE:
            break
        kept.append(sample)
    return frames.traces(kept, {sample.pk: 0 for sample in kept})


def _samples(comparison: Comparison) -> list[Sample]:
    found = Sample.objects.filter(run__comparison=comparison).order_by("created")
    return list(found.only("prompt", "repeat", "last_seq"))
