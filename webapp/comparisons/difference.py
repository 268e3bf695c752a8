"""Page of the difference between comparisons or runs: what was asked, and what came out, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpResponse
from django.shortcuts import redirect, render

from decoding.public import Objective
from webapp.accounts.asked import ActorRequest
from webapp.accounts.rights import Right
from webapp.comparisons.across.columns import COLUMNS, RunColumn
from webapp.comparisons.across.rows import RunRow, classifiers_of, names_of, read
from webapp.comparisons.models import SERVERS_ALONE, Comparison, Run
from webapp.comparisons.report import so_far
from webapp.core.naming import apart
from webapp.core.pages import page
from webapp.core.problems import Invalid
from webapp.core.templatetags.ui import plain, words

MOST = 6
MADE_OF = ("pair__target", "pair__draft", "dataset", "job")
Row = TypeVar("Row", Comparison, Run)
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
    what, back = ("run", "runs") if "run" in request.GET else ("of", "comparisons")
    if not any(request.GET.getlist(what)):
        messages.info(request, f"Choose 2 to {MOST} {back}, then show them side by side.")
        return redirect(back)
    return _of_runs(request) if what == "run" else _of_comparisons(request)


def _of_comparisons(request: ActorRequest) -> HttpResponse:
    rows = Comparison.objects.visible_to(request.actor).select_related(*MADE_OF)
    found = _asked(request, "of", "comparisons", rows)
    reports = [so_far(comparison) for comparison in found]
    machines = [", ".join(sorted({row["runner"] for row in of["strategies"] if row["runner"]})) for of in reports]
    heads = apart([one.name for one in found], found)
    told = [(report["verdict"], report["doubt"]) for report in reports]
    sides = [(one, head, *words) for one, head, words in zip(found, heads, told, strict=True)]
    facts = _facts(found, machines, [one.runs.all() for one in found])
    context = {"sides": sides, "rows": _rows(reports), "heads": heads, **_settings(facts)}
    return render(request, "comparisons/difference.html", context)


def _of_runs(request: ActorRequest) -> HttpResponse:
    """Show runs side by side, of one comparison or of several: their figures, and what was asked."""
    rows = Run.objects.visible_to(request.actor).kept()
    rows = rows.select_related(*(f"comparison__{part}" for part in MADE_OF))
    found = _asked(request, "run", "runs", rows)
    figures = read([run.pk for run in found])
    heads = list(names_of(figures).values())
    machines = [str(COLUMNS["device"].of(row) or "") for row in figures]
    facts = {
        "comparison": [run.comparison.name for run in found],
        **_facts([run.comparison for run in found], machines, [[run] for run in found]),
    }
    sides = list(zip(found, heads, strict=True))
    context = {"sides": sides, "rows": _figures(figures), "heads": heads, **_settings(facts)}
    return render(request, "comparisons/run_difference.html", context)


def _asked(request: ActorRequest, field: str, what: str, rows: QuerySet[Row]) -> list[Row]:
    """Return the rows that the address names, in its order."""
    try:
        ids = [UUID(one) for one in dict.fromkeys(request.GET.getlist(field)) if one]
    except ValueError:
        raise Invalid(f"One of the ids in this address is not one of {what}.", field=field) from None
    known = {row.pk: row for row in rows.filter(pk__in=ids[: MOST + 1])}
    found = [known[one] for one in ids if one in known]
    if not 2 <= len(found) <= MOST:
        raise Invalid(
            f"{len(found)} {what} are chosen, and this page shows 2 to {MOST} side by side.",
            field=field, hint=f"Choose them in the list of {what}.",
        )  # fmt: skip
    return found


def _settings(facts: Mapping[str, list[str]]) -> dict[str, Any]:
    """Settings side by side, and those whose difference makes speeds incomparable."""
    found = [ConditionRow(name, values) for name, values in facts.items()]
    differing = [fact.name for fact in found if fact.differs and fact.name in CONDITIONS and NONE not in fact.values]
    return {"facts": found, "differing": differing}


def _figures(runs: Sequence[RunRow]) -> list[tuple[RunColumn, list[tuple[str, bool]]]]:
    """Return each figure that some of the runs have: how it is written for each, and whether its interval lies apart
    from that of the first."""
    ends = {"ratio": "speedup", "low": "speedup_low", "high": "speedup_high"}
    intervals = [{end: COLUMNS[name].of(run) for end, name in ends.items()} for run in runs]
    apart = [_is_apart(one, intervals[0]) for one in intervals]
    table = []
    for column in COLUMNS.values():
        values = [column.of(run) for run in runs]
        if column.is_number and column.source.startswith("figures__") and any(value is not None for value in values):
            marked = apart if column.name == "speedup" else [False] * len(runs)
            table.append((column, list(zip(map(column.written, values), marked, strict=True))))
    return table


def _facts(found: Sequence[Comparison], machines: list[str], runs: Sequence[Iterable[Run]]) -> dict[str, list[str]]:
    """Return the settings of each, the machine that it ran on, and the classifiers of its runs."""
    return {
        "pair": [f"{one.pair}: {one.pair.models}" if one.pair else SERVERS_ALONE for one in found],
        "classifier": [", ".join(classifiers_of(each)) or NONE for each in runs],
        "prompts": [str(one.dataset) for one in found],
        "split": [one.split or "all" for one in found],
        "how many": [f"{one.limit}" for one in found],
        "repeats": [f"{one.repeats}" for one in found],
        "sampling": [_sampling(one.sampling) for one in found],
        "objective": [str(Objective(**one.slo)) or NONE for one in found],
        "machine": machines,
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
