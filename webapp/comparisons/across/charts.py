"""Charts across comparisons, and the same in words. Only runs under the same conditions share a chart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count

from decoding.public import ONE, STRATEGIES
from webapp.comparisons.across import naming
from webapp.comparisons.across.columns import AXES, COSTS, RunColumn
from webapp.comparisons.across.filters import points
from webapp.comparisons.models import SERVERS_ALONE, Conditions, Figures, RunQuerySet

MOST_POINTS = 300  # nobody can follow more lines
MOST_GROUPS = 200
DRAWN = (
    "figures__is_mixed", "figures__noisy_count", "figures__exactness", "figures__speedup_low", "figures__speedup_high",
    *(axis.source for axis in AXES if axis.source.startswith("figures__")),
)  # fmt: skip
OUT = "each is a bound or a peer, or was noisy, mixed or divergent"


@dataclass(frozen=True, slots=True)
class Group:
    """Runs under the same conditions, with the letter that names them."""

    letter: str
    conditions: Conditions
    count: int

    @property
    def sentence(self) -> str:
        return described(self.conditions)


def described(of: Conditions) -> str:
    sampling = of.sampling
    drawn = f"temperature {sampling['temperature']:g}" if sampling["temperature"] else "greedy"
    split = f" ({of.split})" if of.split else ""
    return (
        f"{of.pair or SERVERS_ALONE} · {of.limit} prompts of {of.dataset.name}{split} · {drawn}, at most "
        f"{sampling['max_new_tokens']} tokens{' · '.join(['', *under_load(of)])} · {of.device}"
    )


def under_load(of: Conditions) -> list[str]:
    """Name the load, unless one user asked at a time."""
    return [] if of.load == ONE else [str(of.load)]


def groups(counts: Mapping[UUID, int], known: Iterable[Conditions]) -> list[Group]:
    """Return the conditions of so many runs, most runs first, and the newest. Letters follow age, so no filter changes
    them."""
    by_age = sorted(known, key=lambda conditions: (conditions.created, conditions.pk))
    found = [Group(_letter(at), of, counts[of.pk]) for at, of in enumerate(by_age) if counts.get(of.pk)]
    return sorted(reversed(found), key=lambda group: -group.count)[:MOST_GROUPS]


def counted(rows: RunQuerySet) -> dict[UUID, int]:
    """Count runs with figures by their conditions."""
    found = rows.filter(figures__isnull=False).order_by().values_list("figures__conditions_id")
    return dict(found.annotate(Count("pk")))


def counted_all(actor: Any) -> dict[UUID, int]:
    """Count all runs of a team: those in the bin are few, so nothing reads the others."""
    of_team: Any = Figures.objects.filter(conditions__in=Conditions.objects.visible_to(actor))
    in_bin = of_team.filter(run__comparison__team_id=actor.team_id, run__comparison__binned__isnull=False)
    counts, less = (dict(rows.values_list("conditions_id").annotate(count=Count("*"))) for rows in (of_team, in_bin))
    return {conditions: count - less.get(conditions, 0) for conditions, count in counts.items()}


def _letter(at: int) -> str:
    """A, B, … Z, AA, AB, …"""
    return (_letter(at // 26 - 1) if at >= 26 else "") + chr(ord("A") + at % 26)


def differences(found: Sequence[Group]) -> list[str]:
    """Name in words how the conditions differ."""
    alike: dict[str, set[Any]] = {
        "pair": {group.conditions.pair_id for group in found},
        "prompts": {(g.conditions.dataset_id, g.conditions.split, g.conditions.limit) for g in found},
        "sampling": {repr(sorted(group.conditions.sampling.items())) for group in found},
        "load": {group.conditions.load for group in found},
        "device or number format": {group.conditions.device for group in found},
    }
    return [name for name, values in alike.items() if len(values) > 1] or ["definitions"]


def front(points: Sequence[tuple[Any, float, float]]) -> set[Any]:
    """Return the names on the Pareto line: those points, of (name, cost, gain), that none beats in one without losing
    in the other."""
    best, found = float("-inf"), set()
    for name, _, gain in sorted(points, key=lambda point: (point[1], -point[2])):
        if gain > best:
            best = gain
            found.add(name)
    return found


def is_ranked(run: Any, noisy_too: bool) -> bool:
    """Whether the run may stand on the Pareto line. Bounds, peers and unfair measurements may not."""
    is_quiet = noisy_too or not run.figures__noisy_count
    fair = is_quiet and not run.figures__is_mixed and run.figures__exactness != "divergent"
    return fair and STRATEGIES[run.strategy].role in ("ranked", "baseline")


def drawn(rows: RunQuerySet, conditions: UUID, cost: str, noisy_too: bool) -> dict[str, Any]:
    """Return the chart of the newest runs under these conditions: axes, values, and the runs on the Pareto line."""
    alike = Figures.objects.filter(conditions=conditions).values(
        "run"
    )  # a join would be made for every run of the team
    found = list(points(rows.filter(pk__in=alike), *DRAWN).order_by("-created", "number")[:MOST_POINTS])
    ranked = [run for run in found if is_ranked(run, noisy_too)]
    newest = {run.label: run for run in reversed(ranked)}  # judge a label by its last run, not by the luckiest
    known = [(run.pk, getattr(run, f"figures__{cost}"), run.figures__speedup) for run in newest.values()]
    on_line = front([(pk, spent, gain) for pk, spent, gain in known if spent is not None and gain is not None])
    shown = {run.pk for run in ({run.label: run for run in reversed(found)} | newest).values()}
    values = {axis.name: [_value(axis, run) for run in found] for axis in AXES}
    axes = [axis for axis in AXES if _tells_apart(axis, values[axis.name])]
    names = naming.names_of(found)
    return {
        "cost": {"name": cost, "title": COSTS[cost]},
        "axes": [{"name": axis.name, "title": axis.title, "kind": axis.kind} for axis in axes],
        "runs": [
            _point(run, names[run.pk])
            | {
                "values": {axis.name: _short(values[axis.name][at]) for axis in axes},
                "is_ranked": is_ranked(run, noisy_too),
                "is_newest": run.pk in shown,
                "is_on_line": run.pk in on_line,
            }
            for at, run in enumerate(found)
        ],
    }


def _value(axis: RunColumn, run: Any) -> Any:
    return getattr(run, axis.source) if axis.source in DRAWN else run.params.get(axis.name)


def _tells_apart(axis: RunColumn, values: Sequence[Any]) -> bool:
    """Whether the axis tells runs apart. A parameter that only one run has, or that is equal in all, does not."""
    return len({*map(_short, values)} - {None}) > (1 if axis.source.startswith("params__") else 0)


def _point(run: Any, name: str) -> dict[str, Any]:
    return {
        "id": str(run.pk),
        "label": run.label,
        "name": name,
        "strategy": run.strategy,
        "comparison": run.comparison__name,
        "address": naming.page_of(run),
        "is_noisy": run.figures__noisy_count > 0,
        "low": run.figures__speedup_low,
        "high": run.figures__speedup_high,
    }


def _short(value: Any) -> Any:
    """Round as exactly as a picture can show; None for a parameter that is left open."""
    return float(f"{value:.4g}") if isinstance(value, float) else None if isinstance(value, str) else value


def in_words(chart: dict[str, Any]) -> str:
    """Describe the Pareto chart to somebody who cannot see it."""
    runs = chart["runs"]
    line = sorted((run for run in runs if run["is_on_line"]), key=lambda run: run["values"]["speedup"])
    if not line:
        return f"{_count(len(runs), 'run')}, none of which is ranked: {OUT}."
    steps = [f"{run['name']} {times(run['values']['speedup'], run['low'], run['high'])}" for run in line]
    out = sum(not run["is_ranked"] for run in runs)
    words = (
        f"{_count(len(runs), 'run')}. On the line, from the cheapest drafting to the fastest run: {'; '.join(steps)}."
    )
    if out:
        words += f" {_count(out, 'run')} cannot be on the line: {OUT}."
    if len(runs) == MOST_POINTS:
        words += f" Only the newest {MOST_POINTS} are drawn."
    return words


def times(median: float, low: float | None, high: float | None) -> str:
    """Write a speed-up and its interval. The baseline's own has none: it is 1 by definition."""
    few = "" if median == 1 else " (too few prompts for an interval)"
    return f"{median:.2f}×{few if low is None or high is None else f' ({low:.2f} to {high:.2f})'}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
