"""Sentences about a study's document or a classifier's card, and the comparison that would test them."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from decoding.public import (
    BASELINE,
    CLASSIFIER,
    STRATEGIES,
    Choice,
    Load,
    change,
    choose,
    labelled,
    paying,
    renamed,
    so_few,
)
from webapp.studies.models import Classifier, Study

Boxes = list[tuple[str, Any]]  # initial values of the form of a new comparison


def spread(histogram: Sequence[int]) -> tuple[int, int]:
    """Lookaheads between which 4 of 5 rounds lie."""
    reached, total = list(itertools.accumulate(histogram)), sum(histogram)
    low = next(n for n, count in enumerate(reached) if count >= 0.1 * total)
    return low, next(n for n, count in enumerate(reached) if count >= 0.9 * total)


def passes(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Passes of an oracle study: of the bound, then of the strategy beside it, on all prompts and on the one drawn."""
    one = document["one"]
    slugs = sorted((slug for slug in STRATEGIES if slug in document), key=lambda slug: not _is_bound(slug))
    names = {slug: slug if _is_bound(slug) else f"{slug}:{one['lookahead']}" for slug in slugs}
    return [
        {"strategy": slug, "name": names[slug], "prompt": found.get("prompt"), **found[slug]}
        for found in (document, one)
        for slug in slugs
    ]


def sources(document: Mapping[str, Any]) -> list[tuple[str, Mapping[str, int]]]:
    """Passes of an oracle on each source of drafts, the best first. PostgreSQL keeps no order of names."""
    return sorted((document.get("sources") or {}).items(), key=lambda source: (source[1]["target"], source[0]))


def to_start(document: Mapping[str, Any], *, is_undrafted: bool) -> Choice | None:
    """Return a fixed setting to begin with: drafts as long as the best are on average, or without a draft model the
    best copies. None if the best are shorter than a token."""
    if is_undrafted:
        return next(iter(labelled(name for name, _ in sources(document))), None)
    fixed = STRATEGIES[next(slug for slug in STRATEGIES if slug in document and not _is_bound(slug))]
    lookahead, length = fixed.params[0], round(document["mean"])
    return choose(fixed.slug, {lookahead.name: min(length, lookahead.high)}) if length else None


def _is_bound(slug: str) -> bool:
    return STRATEGIES[slug].role == "bound"


def settings(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows of a plan's table. One is advised if it is shown to be faster than autoregressive."""
    best = _best(document)
    is_sure = best is not None and (best["measured"]["low"] or 0) > 1
    return [{**setting(row), "is_advised": is_sure and row is best} for row in document.get("settings", [])]


def _best(document: Mapping[str, Any]) -> Mapping[str, Any] | None:
    run = [row for row in document.get("settings", []) if row["measured"]]
    return max(run, key=lambda row: row["measured"]["ratio"], default=None)


def verdict_of_plan(document: Mapping[str, Any]) -> str:
    best = _best(document)
    if best is None:
        return "No setting could be run, so nobody knows whether the predictions hold."
    gain, label = best["measured"], setting(best)["short"]
    if gain["low"] is None:
        return (
            f"{label} ran {gain['ratio']:.2f} times as fast as autoregressive on {so_few(gain['prompts'])}, too few "
            f"to say how sure that is; {best['speedup']:.2f} was predicted."
        )
    doubt = f"95 % interval {gain['low']:.2f} to {gain['high']:.2f}"
    if gain["low"] <= 1:
        return (
            f"No strategy is shown to be faster than autoregressive here; {label} comes closest at "
            f"{gain['ratio']:.2f} times ({doubt}); {best['speedup']:.2f} was predicted."
        )
    return (
        f"Set {label}: it ran {gain['ratio']:.2f} times as fast as autoregressive ({doubt}); "
        f"{best['speedup']:.2f} was predicted."
    )


def verdict_of_projection(document: Mapping[str, Any]) -> str:
    """Say what is best for one text at a time, and how much better than the best without a draft beside the target."""
    single = [row for row in document["settings"] if row["batch"] == 1] or document["settings"]
    best = single[0]
    plain = next(row for row in single if not STRATEGIES[row["strategy"]].prepares_ahead)
    said = (
        f"On {document['card']['name']}, {setting({**best, 'measured': None})['short']} would be "
        f"{best['speedup']:.2f} times as fast as autoregressive"
    )
    if best is plain:
        return f"{said}: no draft beside the target is worth its device."
    short = setting({**plain, "measured": None})["short"]
    return f"{said}, and {best['tokens_per_s'] / plain['tokens_per_s']:.2f} times as fast as {short}."


def by_batch(rows: Sequence[Mapping[str, Any]]) -> list[tuple[int, list[dict[str, Any]]]]:
    """Rows of a projection by the number of texts that are decoded together, with short labels."""
    found: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["batch"], []).append(setting({**row, "measured": None}))
    return [*found.items()]


def at_load(document: Mapping[str, Any]) -> dict[str, Any] | None:
    """Part of a plan for several users at once: its rows by load, those that ran first, and a sentence for each
    crossover."""
    found = document.get("at_load")
    if not found:
        return None
    rows = sorted(map(setting, found["rows"]), key=lambda row: (not row["measured"], -_gain(row)))
    return {
        **found,
        "loads": [(Load(users), [row for row in rows if row["users"] == users]) for users in found["users"]],
        "paying": [paying(crossover) for crossover in found["crossovers"]],
    }


def _gain(row: Mapping[str, Any]) -> float:
    """Speed-up as measured if the row ran, else as predicted."""
    gain: float = row["measured"]["ratio"] if row["measured"] else row["speedup"]
    return gain


def _off(promised: float, gain: Mapping[str, Any] | None) -> str | None:
    """Error of a promise, as a share of what was measured."""
    return change(promised / gain["ratio"], 1) if gain else None


def setting(row: Mapping[str, Any]) -> dict[str, Any]:
    """Row of the table: label without the classifier's long name, and the error of the prediction."""
    choice = Choice.of(row)
    named = {"strategy": choice.strategy, "params": dict(choice.params), "short": choice.asking("").label}
    return {**row, **named, "off": _off(row["speedup"], row["measured"])}


def verdict_of_classifier(classifier: Classifier) -> str:
    predicted = predicted_in(classifier.card)
    rules = {name: value for name, value in predicted.items() if _asks(name) and value}
    others = {name: value for name, value in predicted.items() if name.startswith("best ") and value}
    if not rules or not others:
        return classifier.name
    best, rival = (max(found, key=lambda name: found[name]) for found in (rules, others))
    gain, other = rules[best] / others[rival], _called(rival)
    promise = f"{best} is predicted to be {rules[best]:.2f} times as fast as autoregressive"
    if gain < 1.005:
        return f"{promise}, no more than {other} with {others[rival]:.2f}."
    return f"{promise}, {100 * (gain - 1):.0f} % faster than {other}."


def _asks(name: str) -> bool:
    """Whether a prediction is of choices that ask a classifier: a kind of them, or `SLUG:RULE`."""
    spec = STRATEGIES.get(name.partition(":")[0])
    return spec is not None and spec.may_ask


def predicted_in(card: Mapping[str, Any]) -> dict[str, float]:
    """Return a card's predicted speed-ups, by names as they are now."""
    return {renamed(name): gain for name, gain in card.get("predicted", {}).items()}


def _called(best: str) -> str:
    return "the best static lookahead" if best == "best static" else f"the best setting of {best.removeprefix('best ')}"


def asking(rule: str) -> str:
    """The strategy that asks a classifier by this rule; empty if none does."""
    return next((slug for slug, strategy in STRATEGIES.items() if rule in strategy.swept), "")


def levels(card: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Predicted speed-ups that a classifier's is shown beside: the best setting of another strategy, and the bound."""
    named = [(name, name.removeprefix("best "), at) for name, at in predicted_in(card).items() if at]
    return [
        {"name": name, "strategy": slug, "role": STRATEGIES[slug].role, "at": at}
        for name, slug, at in named
        if slug in STRATEGIES and (slug != name or _is_bound(slug))
    ]


def comparison_of(plan: Study) -> Boxes:
    """Form of a comparison: the plan's deployable settings on its own prompts."""
    assert plan.document is not None
    sampling = {name: value for name, value in plan.sampling.items() if name not in ("stop", "ignore_eos")}
    boxes: Boxes = [("name", f"Plan of {plan.name}"[:200]), ("pair", plan.pair_id), ("dataset", plan.dataset_id)]
    boxes += [
        ("split", plan.split),
        ("limit", plan.limit),
        ("repeats", 1),
        ("queue", plan.job.queue),
        *sampling.items(),
    ]
    boxes.append(("use", BASELINE))
    ranked = [Choice.of(row) for row in plan.document["settings"] if row["role"] == "ranked"]
    for number, choice in enumerate(ranked):
        before = sum(one.strategy == choice.strategy for one in ranked[:number])
        boxes += _chosen(box_of(choice.strategy, before), choice.params)
    return boxes


def comparison_with(classifier: Classifier) -> Boxes:
    """Fill the form with the classifier, the baseline and plain settings; the page adds rule and threshold."""
    sampling = classifier.card.get("sampling", {})
    boxes: Boxes = []
    able = [one for one in STRATEGIES.values() if not (one.needs_draft and classifier.pair.lacks)]
    for strategy in able:
        choice = choose(strategy.slug, {CLASSIFIER.name: str(classifier.pk)} if strategy.may_ask else {})
        asks = strategy.may_ask and (choice.sees == "estimate" or strategy.swept)
        if asks and (classifier.knows_copies or not choice.judges_copies):
            boxes += _chosen(strategy.slug, choice.params)
        elif strategy.role == "baseline":
            boxes.append(("use", strategy.slug))
        elif strategy.prices_passes and strategy.usual_source.sees == "nothing" and strategy.demo:
            boxes += _chosen(strategy.slug, _together(strategy.demo))
    return boxes + [(name, value) for name, value in sampling.items() if name not in ("stop", "ignore_eos")]


def _together(settings: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Join several settings of one parameter, as the form takes them."""
    return {name: ", ".join(str(each[name]) for each in settings) for name in settings[0]}


def box_of(strategy: str, before: int) -> str:
    """Name the box of a form that holds a strategy, after so many others of it."""
    return f"{strategy}~{before + 1}" if before else strategy


def _chosen(box: str, params: Mapping[str, Any]) -> Boxes:
    given = ((name, str(value).lower() if isinstance(value, bool) else value) for name, value in params.items())
    return [("use", box), *((f"{box}.{name}", value) for name, value in given)]
