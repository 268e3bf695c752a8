"""What another setting would have given, by replay of what was recorded, at the prices measured in the same run. No
model runs, and nothing of it is a measurement: an answer says how much of it is known, and how well the same replay
says again what was measured.

Prices are medians of single passes, so whatever else the machine did is not in them. What that comes to is seen on the
strategies that ran; every simulated speed-up is multiplied by it, and the answer says so.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.core.cache import cache

from decoding.errors import BadStrategy
from decoding.spec import Choice, Sampling, choose
from decoding.summary import bootstrap_interval
from webapp.comparisons.models import Comparison, Sample
from webapp.comparisons.report import so_far
from webapp.comparisons.what_if.recorded import DRAFTED_BY_THE_PAIR, KEPT_SECONDS, Recorded, recorded, version
from webapp.comparisons.what_if.simulation import LONGEST, Simulation, acceptance_length, oracle, simulate
from webapp.core.problems import Conflict, Invalid

STEPS: dict[str, tuple[str, Sequence[float]]] = {  # strategy → the parameter it is drawn over, and where
    "static": ("lookahead", range(1, LONGEST + 1)),
    "threshold": ("threshold", [step / 20 for step in range(1, 20)]),
    "heuristic": ("initial", range(1, 13)),
}
QUERY = ("strategy", "lookahead", "threshold", "cap", "initial")


def asked(comparison: Comparison, query: Mapping[str, str]) -> dict[str, Any]:
    """The question as it stands in an address."""
    params = {name: value for name, value in query.items() if name in QUERY and name != "strategy"}
    return what_if(comparison, query.get("strategy", "static"), params)


def what_if(comparison: Comparison, strategy: str, params: Mapping[str, object]) -> dict[str, Any]:
    choice = _choice(strategy, params)
    if refused := refusal(comparison):
        raise refused
    found = recorded(comparison)
    if found is None:
        raise _nothing_recorded()
    key = f"what-if:{version(comparison)}"
    standing = cache.get_or_set(key, lambda: _standing(found, so_far(comparison)["strategies"]), KEPT_SECONDS)
    param, steps = STEPS[strategy]
    others = ":".join(str(value) for name, value in choice.params.items() if name != param)
    curve = cache.get_or_set(f"{key}:{strategy}:{others}", lambda: _curve(found, choice, param, steps), KEPT_SECONDS)
    return _answer(simulate(found, choice), choice, standing, {"param": param, "points": curve})  # type: ignore[arg-type]


def refusal(comparison: Comparison) -> Conflict | None:
    """Why nothing can be asked here, as far as that is seen without reading a trace."""
    sampling = Sampling(**{**comparison.sampling, "stop": tuple(comparison.sampling["stop"])})
    if not sampling.fixes_the_text:
        return Conflict(
            "With ratio dice every strategy writes a text of its own, so what one of them drafted says nothing about "
            "another.", code="not-replayable", hint="Compare with shared dice, or greedily; then this can be asked.",
        )  # fmt: skip
    there = Sample.objects.filter(run__comparison=comparison).finished().values_list("run__strategy", flat=True)
    known = set(there.distinct())
    return None if "autoregressive" in known and known & {*DRAFTED_BY_THE_PAIR} else _nothing_recorded()


def _nothing_recorded() -> Conflict:
    return Conflict(
        "There is nothing to replay: it takes finished samples of autoregressive and of a strategy that drafts.",
        code="nothing-recorded", hint="Wait until some are finished, or clone this with a static lookahead.",
    )  # fmt: skip


def _choice(strategy: str, params: Mapping[str, object]) -> Choice:
    if strategy not in STEPS:
        raise Invalid(f"{strategy[:40]!r} cannot be replayed; {', '.join(STEPS)} can.", field="strategy")
    try:
        return choose(strategy, params)
    except BadStrategy as error:
        raise Invalid(str(error), code=error.code) from None


def _standing(found: Recorded, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What was measured, what this replay says of it, and by how much the two differ all in all."""
    measured = [_checked(found, row) for row in rows if row["role"] != "baseline" and row["speedup"]]
    off = [row["speedup"]["median"] / row["simulated"] for row in measured if row["simulated"]]
    correction = statistics.median(off) if off else 1.0
    for row in measured:
        row["simulated"] = row["simulated"] and row["simulated"] * correction
    return {
        "measured": measured,
        "correction": correction,
        "error": max(abs(correction / one - 1) for one in off) if len(off) > 1 else None,
        "bound": oracle(found).median * correction,
    }


def _checked(found: Recorded, row: Mapping[str, Any]) -> dict[str, Any]:
    choice = Choice(row["strategy"], row["params"])
    can_say = choice.strategy in STEPS and not choice.params.get("adaptive")
    shown = {name: row[name] for name in ("label", "name", "strategy", "params", "role", "speedup")}
    return {**shown, "simulated": simulate(found, choice).median if can_say else None}


def _curve(found: Recorded, choice: Choice, param: str, steps: Sequence[float]) -> list[dict[str, float]]:
    points = []
    for value in steps:
        at = simulate(found, Choice(choice.strategy, {**choice.params, param: value}))
        low, high = at.possible
        points.append({"value": value, "median": at.median, "low": low, "high": high, "unmeasured": at.unmeasured})
    return points


def _answer(asked: Simulation, choice: Choice, standing: dict[str, Any], curve: dict[str, Any]) -> dict[str, Any]:
    correction, middle = standing["correction"], asked.middle
    low, high = bootstrap_interval(middle) if len(middle) > 1 else (None, None)
    possible = [bound * correction for bound in asked.possible]
    return {
        "simulated": True,
        "strategy": choice.strategy,
        "params": dict(choice.params),
        "label": choice.label,
        "speedup": {
            "median": asked.median * correction,
            "low": low and low * correction,
            "high": high and high * correction,
            "prompts": len(middle),
        },
        "possible": {"low": possible[0], "high": possible[1]},
        "known": asked.found.known,
        "unmeasured": asked.unmeasured,
        "mean_acceptance_length": asked.over(acceptance_length),
        "num_target_passes": round(asked.over(lambda counts: counts.target_passes)),
        "num_draft_passes": round(asked.over(lambda counts: counts.draft_passes)),
        **standing,
        "curve": {**curve, "points": [_scaled(point, correction) for point in curve["points"]]},
        "notes": list(_notes(asked, standing)),
    }


def _scaled(point: Mapping[str, float], correction: float) -> dict[str, float]:
    return {**point, **{name: point[name] * correction for name in ("median", "low", "high")}}


def _notes(asked: Simulation, standing: Mapping[str, Any]) -> Iterator[str]:
    found, correction = asked.found, standing["correction"]
    low, high = asked.possible
    if high > low * 1.005:
        yield (
            f"Where nobody drafted, nothing is known of the draft: between {low * correction:.2f} and "
            f"{high * correction:.2f} times is possible."
        )
    if asked.unmeasured > 0:
        yield (
            f"{asked.unmeasured:.0%} of its verifications have more than {found.widest} rows, the most that was "
            "measured; their price is extended along the last measured ones."
        )
    if abs(correction - 1) > 0.02:
        yield (
            f"Undisturbed passes alone would make it {1 / correction:.2f} times as much. What the strategies that ran "
            "lost beside their passes is taken off here too."
        )
    if len(found.prompts) < found.prompt_count:
        yield f"Replayed on {len(found.prompts)} of {found.prompt_count} prompts, evenly spread."
