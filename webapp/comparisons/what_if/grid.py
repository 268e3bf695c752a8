"""What-if for a page that is one file and can ask nobody: the answers along the first slider of each strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from django.core.cache import cache

from decoding.public import STRATEGIES
from webapp.comparisons.models import Comparison
from webapp.comparisons.what_if.asking import SLUGS, USUAL, answers_along
from webapp.comparisons.what_if.recorded import KEPT_SECONDS, one_user, version
from webapp.comparisons.what_if.refusals import refusal
from webapp.core.problems import Conflict

MOST_VALUES = 20  # of one slider: each is a replay of all prompts
OF_ALL = ("simulated", "strategy", "users", "measured", "correction", "error", "bound", "curve")  # alike at each value

Grid = dict[str, Any]


def grids(comparison: Comparison) -> dict[str, Grid]:
    """Return answers by strategy, for one user, all other sliders as they stand at first: for the strategies that ran
    here, and the usual one. Those that prepare ahead are left out: each of their answers takes seconds."""
    if refusal(comparison):
        return {}
    found: Any = cache.get_or_set(f"grids:{version(comparison)}", lambda: _grids(comparison), KEPT_SECONDS)
    return dict(found)


def _grids(comparison: Comparison) -> dict[str, Grid]:
    finished = set(one_user(comparison).values_list("run", flat=True).distinct())
    choices = [run.choice for run in comparison.runs.all() if run.pk in finished]
    kinds = {USUAL: USUAL} | {choice.strategy: choice.kind for choice in reversed(choices)}
    found: dict[str, Grid] = {}
    for slug in SLUGS:
        if slug in kinds and not STRATEGIES[slug].prepares_ahead:
            with suppress(Conflict):  # these traces cannot tell what it would draft
                found[slug] = _grid(answers_along(comparison, kinds[slug], MOST_VALUES))
    return found


def _grid(answers: Sequence[Mapping[str, Any]]) -> Grid:
    param = answers[0]["curve"]["param"]
    own = {
        f"{answer['params'][param]:g}" if param else "": {k: v for k, v in answer.items() if k not in OF_ALL}
        for answer in answers
    }
    return {"param": param, "of_all": {name: answers[0][name] for name in OF_ALL}, "answers": own}


def knobs_of(grids: Mapping[str, Grid], knobs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the form of these grids: a choice among the values of each first slider."""

    def choice(grid: Grid, knob: Mapping[str, Any]) -> dict[str, Any]:
        values, usual = list(grid["answers"]), f"{knob['value']:g}"
        return {**knob, "options": values, "value": usual if usual in values else values[0]}

    def first(of: Mapping[str, Any]) -> list[dict[str, Any]]:
        grid = grids[of["slug"]]
        return [choice(grid, knob) for knob in of["knobs"] if knob["param"] == grid["param"]]

    return [{**of, "why_not": "", "knobs": first(of)} for of in knobs if of["slug"] in grids]
