"""Rounds behind a bar of "why it is not faster": which they are, and what each adds to the bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from decoding.public import Texts, from_dict, passes, sample_from_dict, spent
from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.comparisons import trace
from webapp.comparisons.models import Comparison, Run, Sample, SampleQuerySet
from webapp.comparisons.report import run_called, so_far
from webapp.core.pages import one, page
from webapp.core.problems import Conflict, Invalid

SAMPLES_ON_A_PAGE = 20
TITLES = {spent.BOUND: "the bound"} | spent.CAUSES

Events = list[dict[str, Any]]


@dataclass(frozen=True)
class Bar:
    run: Run
    cause: str
    row_ns: float
    line: passes.Line
    seconds: float | None  # None: the bound's

    def samples(self) -> SampleQuerySet:
        rows = self.run.samples.all().finished().select_related("run", "prompt")
        return rows.order_by("prompt__number", "repeat")

    def ends(self, samples: Sequence[Sample]) -> dict[Any, list[str]]:
        """Return by sample what became of each round. Other strategies on the same prompts know what was too early."""
        runs = [run for run in self.run.comparison.runs.all() if run.load == self.run.load]
        beside = Sample.objects.filter(run__in=runs, prompt__in={sample.prompt_id for sample in samples}).finished()
        texts = Texts(sample_from_dict(numbers) for numbers in beside.values_list("numbers", flat=True))
        return {sample.pk: list(texts.ends(sample_from_dict(sample.numbers))) for sample in samples}

    def behind(self, events: Events, ends: Sequence[str]) -> dict[int, int]:
        """Return nanoseconds by the number of the round, of the rounds behind this bar."""
        recorded, for_prompts = map(from_dict, events), partial(passes.by_prompts, line=self.line)
        found = spent.rounds_behind([*recorded], ends, self.row_ns, for_prompts)
        return {each.round.verdict.round: each.ns[self.cause] for each in found if spent.is_behind(each, self.cause)}


def asked_bar(comparison: Comparison, query: Mapping[str, str]) -> Bar | None:
    """Read the bar from an address; None if it names none."""
    label, cause = query.get("strategy", ""), query.get("cause", "")
    if not label and not cause:
        return None
    run = run_called(comparison, label)
    if cause not in TITLES:
        raise Invalid(f"No cause is called {cause[:40]!r}.", field="cause", hint=f"It can be {', '.join(TITLES)}.")
    why = next(row["why"] for row in so_far(comparison)["strategies"] if row["label"] == run.label)
    if why["refusal"]:
        raise Conflict(why["refusal"], hint="Ask for a strategy that drafts and reports its rounds.")
    seconds = next((step["seconds"] for step in why["steps"] if step["name"] == cause), None)
    line = [(each["texts"], each["ns"]) for each in why["passes"]]
    return Bar(run, cause, why["row_ns"], line, seconds)


@page(Right.READ)
def rounds_behind(request: ActorRequest, id: Any) -> HttpResponse:
    """Show the rounds behind a bar, the most expensive of each page first."""
    comparison = one(Comparison.objects.visible_to(request.actor), id)
    bar = asked_bar(comparison, request.GET.dict())
    if bar is None:
        return redirect("comparison", comparison.pk)
    found = Paginator(bar.samples(), SAMPLES_ON_A_PAGE).get_page(request.GET.get("page"))
    context = {"comparison": comparison, "bar": bar, "title": TITLES[bar.cause], "list": found}
    context["rows"] = sorted(_rows(bar, list(found.object_list)), key=lambda row: -row["ms"])
    return render(request, "comparisons/behind.html", context)


def _rows(bar: Bar, samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    known = {sample.pk: sample for sample in samples}
    ends = bar.ends(samples)
    for pk, events, _ in trace.read_all(known):
        ns = bar.behind(events, ends[pk])
        drafts = {event["round"]: event for event in events if event["event"] == "drafted"}
        for event in events:
            if event["event"] == "verified" and event["round"] in ns:
                ms = ns[event["round"]] / 1e6
                yield {
                    "sample": known[pk], "verdict": event, "draft": drafts.get(event["round"]), "ms": ms,
                    "address": _address(bar, known[pk]),
                }  # fmt: skip


def _address(bar: Bar, sample: Sample) -> str:
    """Address of the sample's text on the page of the comparison."""
    repeat = {"repeat": sample.repeat} if bar.run.comparison.repeats > 1 else {}
    where = urlencode({"strategy": bar.run.label, "prompt": sample.prompt.number, **repeat})
    return f"{reverse('comparison', args=[bar.run.comparison_id])}#{where}"
