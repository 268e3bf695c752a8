"""Page of the difference between comparisons: what was asked, and what came out, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render

from decoding.public import Objective
from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.comparisons.across.rows import classifiers_of
from webapp.comparisons.models import SERVERS_ALONE, Comparison
from webapp.comparisons.report import so_far
from webapp.core.naming import apart
from webapp.core.pages import page
from webapp.core.problems import Invalid
from webapp.core.templatetags.ui import plain, words

MOST = 6
CONDITIONS = {"pair", "classifier", "prompts", "split", "how many", "sampling", "machine"}  # of speeds that compare
NONE = "none"  # where nothing was asked for


@dataclass(frozen=True, slots=True)
class ConditionRow:
    name: str
    values: list[str]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


@dataclass(frozen=True, slots=True)
class StrategyCell:
    """A strategy in one comparison, and how it stands to the first of them."""

    row: Mapping[str, Any]
    ratio: float | None  # of its tokens per second to those in the first comparison
    is_apart: bool  # the intervals of both speed-ups do not overlap


@page(Right.READ)
def difference(request: ActorRequest) -> HttpResponse:
    if not any(request.GET.getlist("of")):
        messages.info(request, f"Choose 2 to {MOST} comparisons, then show them side by side.")
        return redirect("comparisons")
    found = _asked(request)
    reports = [so_far(comparison) for comparison in found]
    heads = apart([one.name for one in found], found)
    told = [(report["verdict"], report["doubt"]) for report in reports]
    sides = [(one, head, *words) for one, head, words in zip(found, heads, told, strict=True)]
    context = {"sides": sides, "rows": _rows(reports), "heads": heads, **_settings(_facts(found, reports))}
    return render(request, "comparisons/difference.html", context)


def _asked(request: ActorRequest) -> list[Comparison]:
    """Return the comparisons that the address names, in its order."""
    try:
        ids = [UUID(one) for one in dict.fromkeys(request.GET.getlist("of")) if one]
    except ValueError:
        raise Invalid("One of the ids in this address is not one of comparisons.", field="of") from None
    rows = Comparison.objects.visible_to(request.actor).select_related("pair__target", "pair__draft", "dataset", "job")
    known = rows.in_bulk(ids[: MOST + 1])
    found = [known[one] for one in ids if one in known]
    if not 2 <= len(found) <= MOST:
        raise Invalid(
            f"{len(found)} comparisons are chosen, and this page shows 2 to {MOST} side by side.",
            field="of", hint="Choose them in the list of comparisons.",
        )  # fmt: skip
    return found


def _settings(facts: Mapping[str, list[str]]) -> dict[str, Any]:
    """Settings side by side, and those whose difference makes speeds incomparable."""
    found = [ConditionRow(name, values) for name, values in facts.items()]
    differing = [fact.name for fact in found if fact.differs and fact.name in CONDITIONS and NONE not in fact.values]
    return {"facts": found, "differing": differing}


def _facts(found: Sequence[Comparison], reports: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Return the settings of each, the machine that it ran on, and the classifiers of its runs."""
    machines = [sorted({row["runner"] for row in of["strategies"] if row["runner"]}) for of in reports]
    return {
        "pair": [f"{one.pair}: {one.pair.models}" if one.pair else SERVERS_ALONE for one in found],
        "classifier": [", ".join(classifiers_of(one.runs.all())) or NONE for one in found],
        "prompts": [str(one.dataset) for one in found],
        "split": [one.split or "all" for one in found],
        "how many": [f"{one.limit}" for one in found],
        "repeats": [f"{one.repeats}" for one in found],
        "sampling": [_sampling(one.sampling) for one in found],
        "objective": [str(Objective(**one.slo)) or NONE for one in found],
        "machine": [", ".join(each) for each in machines],
        "versions": [_versions(one.hardware) for one in found],
        "launched": [f"{one.created:%Y-%m-%d %H:%M}" for one in found],
        "tags": [", ".join(tag.name for tag in one.tags.all()) for one in found],
    }


def _sampling(sampling: Mapping[str, Any]) -> str:
    given = sorted((name, value) for name, value in sampling.items() if value not in (None, "", []))
    return ", ".join(f"{words(name)} {plain(value)}" for name, value in given)


def _versions(hardware: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {hardware[name]}" for name in ("drafthouse", "torch", "transformers") if name in hardware)


def _rows(reports: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], list[StrategyCell | None]]]:
    """Return for each strategy that ran in some of them a cell for each, fastest in the first comparison first."""
    tables = [{row["label"]: row for row in report["strategies"] if row["sample_count"]} for report in reports]
    known = {label: row for table in reversed(tables) for label, row in table.items()}
    cells = [(row, [_cell(table.get(label), tables[0].get(label)) for table in tables]) for label, row in known.items()]
    return sorted(cells, key=lambda one: -(one[0]["speedup"] or {"ratio": 0})["ratio"])


def _cell(row: Mapping[str, Any] | None, first: Mapping[str, Any] | None) -> StrategyCell | None:
    if row is None:
        return None
    if first is None or row is first or not first["tokens_per_s"]:
        return StrategyCell(row, None, False)
    return StrategyCell(row, row["tokens_per_s"] / first["tokens_per_s"], _is_apart(row["speedup"], first["speedup"]))


def _is_apart(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    (low, high), (least, most) = map(_ends, (one, other))
    if low is None or high is None or least is None or most is None:
        return False
    return low > most or high < least


def _ends(gain: Mapping[str, Any] | None) -> tuple[float | None, float | None]:
    """Ends of an interval. The baseline's own speed-up has none: it is 1 by definition."""
    if not gain or gain["ratio"] == 1:
        return (1.0, 1.0) if gain else (None, None)
    return gain["low"], gain["high"]
