"""The page of one comparison, for its team and for whoever has a link. The HTML is complete; a socket brings news."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode
from uuid import UUID

from django.db.models import prefetch_related_objects
from django.db.models.fields.json import KT
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.gzip import gzip_page

from decoding.public import ONE, Load, load_of, ranked, usual_baseline
from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.comparisons import frames, trace
from webapp.comparisons.elsewhere import advice
from webapp.comparisons.models import Comparison, Run, Sample
from webapp.comparisons.packing import columns, columns_of, pack
from webapp.comparisons.redaction import shown_by, without_texts, without_words
from webapp.comparisons.report import KEPT_SECONDS, names_of, pinned, so_far
from webapp.comparisons.what_if.asking import knobs
from webapp.comparisons.what_if.refusals import refusal
from webapp.core.caching import cached
from webapp.core.naming import file_name
from webapp.core.one_file import one_file
from webapp.core.pages import one, page
from webapp.core.problems import Conflict

PARTS = {  # an open page asks for these
    "verdict": "comparisons/_verdict.html",
    "what-if": "comparisons/_what_if.html",
    "downloads": "comparisons/_downloads.html",
}
NUMBERS_OF_A_RACE = (("tokens", "tokens"), ("time", "time"), ("speed", "tokens/s"), ("gain", "on this prompt"))
NUMBERS_OF_REQUESTS = (
    ("speed", "tokens/s"), ("begun", "requests"), ("running", "running"), ("waited", "waited"),
    ("acceptance", "accepted"),
)  # fmt: skip
FILES = (("report as JSON", "report"), ("the worst prompts", "worst"))  # and their routes; relative to a baseline
SCRIPT = "js/pages/comparison.js"
MOST_EVENTS_IN_FILE = 200_000
DASHES = ("", "dash-2nd", "dash-3rd", "dash-4th")  # app.css draws them
MOST_EVENTS = 20_000  # sent with a page; it asks for longer traces when it shows them
LONGEST_PROMPT = 600  # characters shown before the text: the end of the prompt, which the text continues
NO_ROWS = columns([], {})

Traced = Mapping[UUID, int]  # finished samples, and the last seq of each


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
def comparison(request: ActorRequest, id: UUID) -> HttpResponse:
    rows = Comparison.objects.visible_to(request.actor).select_related(
        "pair__target", "pair__draft", "dataset", "job", "created_by"
    )
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
    prefetch_related_objects([comparison], "runs", "tags")
    report = so_far(comparison, pinned(comparison, request.GET.get("baseline", "")))
    context = _context(comparison, report, share)
    context["downloads"] = _downloads(context, addresses["file"])
    if part := PARTS.get(request.GET.get("part", "")):
        return render(request, part, context)
    context["refused"] = refusal(comparison) if comparison.job.is_final else None
    context |= _with_data(context, addresses, _first_traced(comparison))
    return render(request, "comparisons/comparison.html", context)


def as_file(comparison: Comparison, baseline: str, share: Link | None) -> HttpResponse:
    """Answer the page as one file, with as many races as it may hold."""
    if not comparison.job.is_final:
        raise Conflict("This comparison has not ended, so its page still changes.", hint="Download it later.")
    report = so_far(comparison, pinned(comparison, baseline))
    context = _context(comparison, report, share or OwnFile()) | {"what_if": []}  # a file can ask nobody
    context |= _with_data(context, {"is_whole": True}, _all_traced(comparison))
    load = ("comparison-load",) if context["is_loaded"] else ()
    sections = ("text", "comparison-top", *load, "comparison")
    name = file_name(comparison)
    return one_file("comparisons/comparison.html", context, entry=SCRIPT, sections=sections, name=name)


def _context(comparison: Comparison, report: dict[str, Any], share: Link | None) -> dict[str, Any]:
    status = frames.status(comparison)
    context = {"comparison": comparison, "job": comparison.job, "is_final": comparison.job.is_final, "share": share}
    context["status"] = shown_by(share.hides_texts)(status) if share else status
    return {**context, **_of_report(comparison, report)}


def _with_data(context: Mapping[str, Any], more: Mapping[str, Any], traced: Traced) -> dict[str, Any]:
    """Data that the page's script starts from: `page`, and two long texts beside it, columns of rows and of traces."""
    comparison, report, share = context["comparison"], context["report"], context["share"]
    hides_texts = bool(share and share.hides_texts)
    since, rows = _rows(comparison)
    data = {
        **_data(comparison, report),
        "since": since,
        "status": context["status"],
        "hides_texts": hides_texts,
        **more,
    }
    if hides_texts:
        data["prompts"] = [without_words(prompt) for prompt in data["prompts"]]
    beside = _script("rows", rows) + _script("traces", _written(traced, hides_texts))
    return {"page": data, "beside": beside, "has_begun": rows != NO_ROWS, "shown_label": _shown(report)}


def _script(name: str, data: str) -> SafeString:
    """Hand JSON to the page's script, as Django's `json_script` does with what is no text yet."""
    data = data.replace("&", "\\u0026").replace("<", "\\u003C").replace(">", "\\u003E")
    return SafeString(f'<script id="{name}" type="application/json">{data}</script>')


def _of_report(comparison: Comparison, report: dict[str, Any]) -> dict[str, Any]:
    """The report, and the parts of the table that its numbers call for: rows of a load fastest first."""
    runs = list(comparison.runs.all())
    dashes, usual = _dashes(runs), usual_baseline(run.choice for run in runs)
    rows = [{**row, "dash": dashes[row["label"]], **_ranks(row, report)} for row in report["strategies"]]
    rows.sort(key=lambda row: -(row["speedup"] or {"ratio": 0})["ratio"])
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
        "columns": NUMBERS_OF_REQUESTS if _is_loaded(report) else NUMBERS_OF_A_RACE,
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
    return [
        *files,
        *((name, reverse(f"comparisons-{route}", args=[comparison.pk]) + query) for name, route in FILES),
        ("rounds as CSV", reverse("comparisons-rounds", args=[comparison.pk])),
    ]


def _is_loaded(report: Mapping[str, Any]) -> bool:
    """Whether requests shared the machine at some load."""
    return any(load_of(load) != ONE for load in report["loads"])


def _rows_at(load: Load, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [row for row in rows if load_of(row) == load]


def _shown(report: dict[str, Any]) -> str:
    """Label of the strategy whose text is shown first: the verdict's, before the first sample any that is ranked."""
    rows = report["strategies"]
    leaders = [load["ranking"]["leader"] for load in report["loads"]]
    fastest = [row["label"] for row in ranked(rows) if not row["is_baseline"]]
    first = [row["label"] for row in rows if row["role"] == "ranked"]
    return str(next(filter(None, [*leaders, *fastest, *first, rows[0]["label"]])))


def _data(comparison: Comparison, report: dict[str, Any]) -> dict[str, Any]:
    return {
        "samples": report["samples"],
        "repeats": comparison.repeats,
        "is_loaded": _is_loaded(report),
        "runs": _runs(comparison, report),
        "prompts": _prompts(comparison),
    }


def _rows(comparison: Comparison) -> tuple[str, str]:
    """Return the moment up to which the page knows samples, and their rows as columns. The status was read before, so
    the socket tells what ends in between. Of an ended comparison they never change, and are kept."""
    job = comparison.job

    def read() -> tuple[str, bytes]:
        found = frames.drawn(Sample.objects.filter(run__comparison=comparison))
        since = max([comparison.created, *(sample.finished for sample in found if sample.finished)])
        return since.isoformat(), pack([frames.row(sample) for sample in found], {})

    key = f"rows:{comparison.pk}:{job.attempt}:{job.state}:{job.finished and job.finished.timestamp()}"
    since, packed = cached(key, read, KEPT_SECONDS) if job.is_final else read()
    return since, columns_of(packed)


def _prompts(comparison: Comparison) -> list[dict[str, Any]]:
    """Return the end of each prompt: of a chat, as the target read it once its first sample is finished."""
    prompts = comparison.prompts
    rendered = _rendered(comparison) if any(prompt.chat for prompt in prompts) else {}
    return [
        {
            "number": prompt.number,
            "category": prompt.category,
            "text": rendered.get(prompt.number, prompt.text)[-LONGEST_PROMPT:],
            **({"turn": prompt.turn} if prompt.chat else {}),
        }
        for prompt in prompts
    ]


def _rendered(comparison: Comparison) -> dict[int, str]:
    finished = Sample.objects.filter(run__comparison=comparison).finished().order_by("created")
    found = finished.values_list("prompt__number", KT("numbers__rendered"))
    return {number: text for number, text in found if text}


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


def _first_traced(comparison: Comparison) -> Traced:
    """Samples of the prompt that is shown first, so that the page of an ended comparison need not ask for them."""
    samples = Sample.objects.filter(run__in=list(comparison.runs.all()))  # by their index; not all of a prompt's
    last = samples.order_by("created").values("prompt", "repeat").last() if comparison.job.is_final else None
    heat = samples.finished().filter(**last).order_by("created").values_list("pk", "last_seq") if last else ()
    found = {pk: last_seq or 0 for pk, last_seq in heat}
    return found if sum(found.values()) <= MOST_EVENTS else {}


def _all_traced(comparison: Comparison) -> Traced:
    """All samples, or the last ones whose traces a file may hold: the page shows the last one first."""
    kept: dict[UUID, int] = {}
    count = 0
    finished = Sample.objects.filter(run__comparison=comparison).finished()
    for pk, last_seq in finished.order_by("-created").values_list("pk", "last_seq"):
        count += last_seq or 0
        if count > MOST_EVENTS_IN_FILE:
            break
        kept[pk] = last_seq or 0
    return kept


def _written(traced: Traced, hides_texts: bool) -> str:
    """Write whole traces as JSON."""
    if hides_texts:
        whole = ((pk, without_texts({"t": "events", "events": events})) for pk, events, _ in trace.read_all(traced))
        found = {pk: [columns(frame["events"], {})] for pk, frame in whole}
    else:
        found = trace.written(traced)
    each = (
        f'{{"sample":"{pk}","last_seq":{last_seq},"parts":[{",".join(found.get(pk, ()))}]}}'
        for pk, last_seq in traced.items()
    )
    return f"[{','.join(each)}]"
