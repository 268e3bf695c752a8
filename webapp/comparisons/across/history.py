"""The history of a pair: the speed-up of each strategy on the same question, and changes of hardware or versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from django.db.models import Count, Max

from decoding.public import STRATEGIES
from webapp.comparisons.across import filters, naming
from webapp.comparisons.across.charts import times, under_load
from webapp.comparisons.models import Conditions, RunQuerySet

MOST_RUNS, MOST_QUESTIONS, MOST_CHANGES = 200, 50, 5
SHOWN = (
    "created", "figures__speedup", "figures__speedup_low", "figures__speedup_high", "figures__tokens_per_s",
    "figures__versions", "figures__noisy_count", "figures__is_mixed", "figures__conditions__device",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HistoryConditions:
    """The same prompts, sampling and load, on any device."""

    digest: str
    conditions: Conditions  # any of them: they differ only in the device
    count: int

    @property
    def sentence(self) -> str:
        of = self.conditions
        drawn = f"temperature {of.sampling['temperature']:g}" if of.sampling["temperature"] else "greedy"
        split = f" ({of.split})" if of.split else ""
        words = [f"{of.limit} prompts of {of.dataset.name}{split}", drawn, f"{of.sampling['max_new_tokens']} tokens"]
        return ", ".join([*words, *under_load(of)])


def questions(rows: RunQuerySet) -> list[HistoryConditions]:
    """Return the questions of this pair, the most frequent first."""
    counted = rows.filter(figures__isnull=False).order_by().values_list("figures__conditions__question")
    counts = dict(
        counted.annotate(count=Count("pk"), latest=Max("created"))
        .values_list("figures__conditions__question", "count")
        .order_by("-count", "-latest")[:MOST_QUESTIONS]
    )
    known = {
        conditions.question: conditions
        for conditions in Conditions.objects.filter(question__in=counts).select_related("dataset", "pair")
    }
    return [HistoryConditions(digest, known[digest], count) for digest, count in counts.items()]


def history(rows: RunQuerySet, question: str) -> dict[str, Any]:
    """Return the newest runs on one question, oldest first."""
    found = rows.filter(figures__conditions__question=question, figures__speedup__isnull=False)
    newest = list(filters.points(found, *SHOWN).order_by("-created", "-number")[:MOST_RUNS])
    names = naming.names_of(newest)
    moments = [_moment(run, names[run.pk]) for run in reversed(newest)]
    return {"points": moments, "changes": _changes(moments), "is_cut": len(newest) == MOST_RUNS}


def _moment(run: Any, name: str) -> dict[str, Any]:
    return {
        "run": str(run.pk),
        "label": run.label,
        "name": name,
        "strategy": run.strategy,
        "role": STRATEGIES[run.strategy].role,
        "comparison": run.comparison__name,
        "address": naming.page_of(run),
        "at": run.created,
        "speedup": run.figures__speedup,
        "low": run.figures__speedup_low,
        "high": run.figures__speedup_high,
        "tokens_per_s": run.figures__tokens_per_s,
        "device": run.figures__conditions__device,
        "versions": run.figures__versions,
        "is_noisy": run.figures__noisy_count > 0 or run.figures__is_mixed,
    }


def _changes(points: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the changes of device and versions from one comparison to the next."""
    changes = []
    for before, after in pairwise(points):
        for kind in ("device", "versions"):
            if before[kind] != after[kind] and before[kind] and after[kind]:
                changes.append({"at": after["at"], "kind": kind, "before": before[kind], "after": after[kind]})
    return changes


def in_words(shown: dict[str, Any]) -> str:
    """Name first and last result of each strategy, and the changes in between."""
    by_label: dict[str, list[dict[str, Any]]] = {}
    for point in shown["points"]:
        if point["role"] != "baseline":
            by_label.setdefault(point["label"], []).append(point)
    days = {f"{points[0]['at']:%Y-%m-%d}" for points in by_label.values()}
    if len(by_label) > 1 and len(days) == 1 and all(len(points) == 1 for points in by_label.values()):
        return f"Each strategy was measured once, on {days.pop()}. Run them again to see what changes."
    sentences = []
    for points in by_label.values():
        first, last, name = points[0], points[-1], points[-1]["name"]
        now = times(last["speedup"], last["low"], last["high"])
        if len(points) == 1:
            sentences.append(f"{name} was measured once, on {first['at']:%Y-%m-%d}: {now}.")
        else:
            was = times(first["speedup"], first["low"], first["high"])
            sentences.append(f"{name} went from {was} on {first['at']:%Y-%m-%d} to {now} on {last['at']:%Y-%m-%d}.")
    for change in shown["changes"][-MOST_CHANGES:]:
        what = "hardware" if change["kind"] == "device" else "versions"
        sentences.append(
            f"On {change['at']:%Y-%m-%d} the {what} changed to {change['after']}; "
            "do not compare results from before and after."
        )
    if (more := len(shown["changes"]) - MOST_CHANGES) > 0:
        sentences.append(f"There were {more} earlier changes.")
    return " ".join(sentences)
