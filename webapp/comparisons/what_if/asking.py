"""Simulate another setting by replay of the recorded traces, at the prices measured in the same run. No model runs, and
nothing of it is a measurement: an answer says how much of it is known, and how well the same replay reproduces what was
measured.

Prices are medians of single passes, so they miss whatever else the machine did. The strategies that ran show how much
that is: every simulated speed-up is multiplied by it, and the answer says so.
"""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from django.core.cache import cache

from decoding.public import (
    JUDGED,
    MOST_USERS_ASKED,
    ONE,
    SOURCES,
    STRATEGIES,
    BadStrategy,
    Choice,
    CopyJudge,
    Load,
    Prices,
    RecordedComparison,
    Simulation,
    Slider,
    Strategy,
    choose,
    current,
    load_of,
    oracle,
    simulate,
)
from webapp.comparisons.models import Comparison
from webapp.comparisons.report import so_far
from webapp.comparisons.what_if.notes import notes_of
from webapp.comparisons.what_if.recorded import (
    KEPT_SECONDS,
    recorded,
    version,
)
from webapp.comparisons.what_if.refusals import (
    ASKABLE,
    ASKABLE_ALONE,
    lacks_draft,
    no_draft,
    nothing_recorded,
    refusal,
    unknown,
)
from webapp.core.problems import Invalid, Problem
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Classifier

SLUGS = [strategy.slug for strategy in ASKABLE]
STEPS: dict[str, tuple[str, Sequence[float]]] = {  # strategy → parameter and values of its curve, if it has sliders
    strategy.slug: (strategy.sliders[0].param, strategy.sliders[0].values)
    for strategy in ASKABLE
    if strategy.sliders and not strategy.sliders[0].options
}
NO_CURVE: dict[str, Any] = {"param": "", "points": [], "missing": []}
QUERY = ("strategy", "users", *dict.fromkeys(slider.param for strategy in ASKABLE for slider in strategy.sliders))
USUAL = next(strategy.slug for strategy in ASKABLE if strategy.usual)  # asked if a query names no strategy
USUAL_ALONE = ASKABLE_ALONE[0]  # the same on a target alone


def judging(comparison: Comparison) -> dict[str, Classifier]:
    """Return the classifiers by id, first the one that a question gets which names none."""
    ran = [run.choice.classifier or "" for run in comparison.runs.all() if run.choice.judges_copies]
    used = {str(one.pk): one for one in Classifier.objects.filter(pk__in=ran)}
    if used or not comparison.pair:
        return {name: used[name] for name in ran if name in used}
    newest = classifying.usable_on(comparison.pair).filter(card__design=SOURCES)[:1]
    return {str(one.pk): one for one in newest}


def judges(comparison: Comparison) -> dict[str, CopyJudge]:
    """Read them. One whose files cannot be read is left out."""
    found: dict[str, CopyJudge] = {}
    for name, classifier in judging(comparison).items():
        with suppress(BadStrategy, Problem, OSError):
            judge: Any = cache.get_or_set(f"judge:{name}", partial(classifying.judge_of, classifier), KEPT_SECONDS)
            stored = comparison.prices.get(name)
            found[name] = replace(judge, prices=Prices.from_dict(stored)) if stored else judge
    return found


def with_judge(judges: Iterable[str], choice: Choice) -> Choice:
    """Name the classifier that judges the copies, if there is one."""
    return choice.asking(next(iter(judges), "")) if choice.judges_copies else choice


def answer_query(comparison: Comparison, query: Mapping[str, str]) -> dict[str, Any]:
    """Answer the question in an address."""
    params = {name: value for name, value in query.items() if name in QUERY and name not in ("strategy", "users")}
    usual = USUAL_ALONE if lacks_draft(comparison) else USUAL
    return what_if(comparison, query.get("strategy", usual), params, _users(query.get("users", "1")))


def _users(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 3 and 1 <= int(text) <= MOST_USERS_ASKED):
        raise Invalid(f"users is {text[:40]!r}; it must be a number from 1 to {MOST_USERS_ASKED}.", field="users")
    return int(text)


def what_if(comparison: Comparison, strategy: str, params: Mapping[str, object], users: int = 1) -> dict[str, Any]:
    choice = _choice(*current(strategy, params)).at(Load(users))
    if choice.judges_copies:
        choice = with_judge(judges(comparison), choice)
    if refused := refusal(comparison) or no_draft(comparison, choice):
        raise refused
    key = f"what-if:{version(comparison)}:{choice.spec.prepares_ahead}:{users}"
    # Sliders return to earlier values, and a curve covers all of them: each is played once.
    answer: Any = cache.get_or_set(f"{key}:{choice.settings}", lambda: _answer(comparison, choice, key), KEPT_SECONDS)
    point = answer.pop("point", None)
    curve = _curve(comparison, point, choice, f"{key}:curve:{choice.strategy}") if point else NO_CURVE
    scaled = [_scaled(point, answer["correction"]) for point in curve["points"]]
    return {**answer, "curve": {**curve, "points": scaled}}


def _recorded(comparison: Comparison) -> RecordedComparison:
    found = recorded(comparison)
    if found is None:
        raise nothing_recorded(comparison.pair)
    return replace(found, judges=judges(comparison))


def knobs(comparison: Comparison, ran: Collection[str]) -> list[dict[str, Any]]:
    """Return the sliders of the page's form, without the strategies whose draft is missing. `ran` are the strategies
    with samples: the price of preparing ahead is unknown for one that did not run."""
    has_judge = bool(judges(comparison))

    def knob(strategy: Strategy, slider: Slider) -> dict[str, Any]:
        bounds = {name: f"{getattr(slider, name):g}" for name in ("low", "high", "step")}
        value = strategy.read({})[slider.param]
        value = str(value).lower() if isinstance(value, bool) else value
        help = next(param.help for param in strategy.params if param.name == slider.param)
        return {"param": slider.param, "help": help, "options": slider.options, **bounds, "value": value}

    return [
        {
            "slug": strategy.slug,
            "why_not": "none ran here" if strategy.prepares_ahead and strategy.slug not in ran else "",
            "knobs": [knob(strategy, slider) for slider in strategy.sliders if has_judge or slider != JUDGED],
        }
        for strategy in ASKABLE
        if not (strategy.needs_draft and lacks_draft(comparison))
    ]


def _choice(strategy: str, params: Mapping[str, object]) -> Choice:
    if strategy not in SLUGS:
        raise Invalid(
            f"{strategy[:40]!r} cannot be replayed; {', '.join(SLUGS)} can.{_why(strategy)}", field="strategy"
        )
    try:
        choice = choose(strategy, params)
    except BadStrategy as error:
        raise Invalid(str(error), code=error.code) from None
    for slider in choice.spec.sliders:
        _check(choice, slider)
    return choice


def _why(strategy: str) -> str:
    """Say why a strategy of ours cannot be asked, and what can be done."""
    spec = STRATEGIES.get(strategy)
    if spec and choose(spec.slug).classifier is not None:
        return (
            " Its classifier looks at each drafted token, and these traces do not contain what it sees."
            " Make a plan: it replays with it."
        )
    return " These traces do not tell what it would do. Run it to see its speed." if spec else ""


def _check(choice: Choice, slider: Slider) -> None:
    """Raise Invalid for values that a run takes but a simulation does not."""
    value = choice.params[slider.param]
    is_word, options = isinstance(value, str), ", ".join(option or "none" for option in slider.options)
    if is_word and value not in slider.options:
        raise Invalid(f"{choice.strategy} can be simulated with a {slider.param} of {options} only.")
    if choice.spec.prepares_ahead and not is_word and not slider.low <= float(value) <= slider.high:
        raise Invalid(f"{choice.strategy} can be simulated with {slider.param} up to {slider.high:g} only.")


def _is_ahead(strategy: str) -> bool:
    """Whether the strategy prepares ahead. A replay is compared only with measurements of its own kind: turns, or two
    models at once."""
    return STRATEGIES[strategy].prepares_ahead


def _play(found: RecordedComparison, choice: Choice) -> Simulation:
    if refused := unknown(found, choice):
        raise refused
    return simulate(found, choice, choice.load.concurrency)


def _fit(
    found: RecordedComparison, rows: Sequence[Mapping[str, Any]], is_ahead: bool, load: Load = ONE
) -> dict[str, Any]:
    """Return the measured results at this load, the replay's results for them, and the overall ratio of the two."""
    measured = [_replayed(found, row, is_ahead) for row in rows if row["role"] != "baseline" and row["speedup"]]
    off = [row["speedup"]["ratio"] / row["simulated"] for row in measured if row["simulated"]]
    correction = statistics.median(off) if off else 1.0
    for row in measured:
        row["simulated"] = row["simulated"] and row["simulated"] * correction
    return {
        "measured": measured,
        "correction": correction,
        "error": max(abs(correction / one - 1) for one in off) if len(off) > 1 else None,
        "bound": None if is_ahead or load != ONE or not found.knows_the_draft else oracle(found).ratio * correction,
    }


def _replayed(found: RecordedComparison, row: Mapping[str, Any], is_ahead: bool) -> dict[str, Any]:
    choice = Choice.of(row).at(load_of(row))
    is_known = choice.spec in ASKABLE or (choice.spec.usual_source.copies and choice.spec.needs_draft)
    can_say = is_known and _is_ahead(choice.strategy) == is_ahead and not unknown(found, choice)
    shown = {name: row[name] for name in ("label", "name", "strategy", "params", "role", "speedup")}
    return {**shown, "simulated": _play(found, choice).ratio if can_say else None}


def _curve(comparison: Comparison, point: dict[str, float], choice: Choice, key: str) -> dict[str, Any]:
    """Return the points of the curve, all at once if they are cheap. If the strategy prepares ahead or several users
    ask, each costs as much as the answer: then only points asked for before come, and the page asks for the others one
    by one."""
    param, steps = STEPS[choice.strategy]
    key += "".join(f":{value}" for name, value in choice.params.items() if name != param)
    points: dict[float, dict[str, float]] = cache.get(key) or {}
    if point["value"] in steps:
        points[float(point["value"])] = point
    missing = [value for value in steps if value not in points]
    if missing and not choice.spec.prepares_ahead and choice.load == ONE:
        found = _recorded(comparison)
        points |= {value: _point(value, _play(found, _with(choice, param, value))) for value in missing}
        missing = []
    cache.set(key, points, KEPT_SECONDS)
    return {"param": param, "points": [points[value] for value in sorted(points)], "missing": missing}


def _with(choice: Choice, param: str, value: float) -> Choice:
    return Choice(choice.strategy, {**choice.params, param: value}).at(choice.load)


def _point(value: Any, at: Simulation) -> dict[str, float]:
    low, high = at.possible
    return {"value": value, "ratio": at.ratio, "low": low, "high": high, "unmeasured": at.unmeasured}


def _answer(comparison: Comparison, choice: Choice, key: str) -> dict[str, Any]:
    """Return the whole answer but the curve."""
    found, is_ahead = _recorded(comparison), _is_ahead(choice.strategy)
    load = choice.load
    rows = lambda: [row for row in so_far(comparison)["strategies"] if load_of(row) == load]  # noqa: E731
    fit: Any = cache.get_or_set(key, lambda: _fit(found, rows(), is_ahead, load), KEPT_SECONDS)
    return _result(found, choice, _play(found, choice), fit)


def _result(
    found: RecordedComparison,
    choice: Choice,
    simulation: Simulation,
    fit: Mapping[str, Any],
) -> dict[str, Any]:
    correction = fit["correction"]
    steps = STEPS.get(choice.strategy)
    point = {"point": _point(choice.params[steps[0]], simulation)} if steps else {}  # for the curve, not yet corrected
    few = any(row["speedup"]["low"] is None for row in fit["measured"])  # then no simulation is surer than they are
    low, high = (None, None) if few else simulation.interval
    possible = [bound * correction for bound in simulation.possible]
    return {
        "simulated": True,
        "strategy": choice.strategy,
        "params": dict(choice.params),
        "users": choice.load.concurrency,
        "label": choice.label,
        "speedup": {
            "ratio": simulation.ratio * correction,
            "low": low and low * correction,
            "high": high and high * correction,
            "prompts": len(simulation.times),
        },
        "possible": {"low": possible[0], "high": possible[1]},
        "known": 1.0 if choice.spec.copies_only else found.known,
        "unmeasured": simulation.unmeasured,
        "context_known": found.costs.knows_context,
        "mean_acceptance_length": simulation.mean_acceptance_length,
        "num_target_passes": simulation.num_target_passes,
        "num_draft_passes": simulation.num_draft_passes,
        "hit_rate": simulation.hit_rate,
        **fit,
        **point,
        "notes": list(notes_of(found, choice, simulation, fit)),
    }


def _scaled(point: Mapping[str, float], correction: float) -> dict[str, float]:
    return {**point, **{name: point[name] * correction for name in ("ratio", "low", "high")}}
