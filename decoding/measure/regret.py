"""Regret: the share of a bound's speed that a strategy did not reach, over all prompts and by category.

The bound knows what the strategy must guess, so the regret is what better guesses could bring. Standard library only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from decoding.choice import Choice
from decoding.measure.sample import SampleResult
from decoding.measure.speedups import Race, race, speedups


def regrets(
    choices: Sequence[Choice], by_label: Mapping[str, Sequence[SampleResult]]
) -> Iterator[dict[str, Any] | None]:
    """Yield the regret of each choice against its bound at the same load; None if there is none, or it did not run."""
    for choice in choices:
        bound = next((one for one in choices if one.load == choice.load and one.strategy == choice.spec.bound), None)
        own = by_label[choice.label]
        if bound is None or not own:
            yield None
            continue
        found = race(choice.load, {bound.label: by_label[bound.label], choice.label: own})
        is_known = bound.label in found.times and choice.label in found.times
        yield regret(choice.label, bound.label, found, categories_of(own)) if is_known else None


def categories_of(samples: Iterable[SampleResult]) -> dict[str, str]:
    """Return the category of each prompt; a conversation has that of its first turn."""
    found: dict[str, str] = {}
    for sample in samples:
        found.setdefault(sample.unit, sample.category)
    return found


def regret(label: str, bound: str, found: Race, categories: Mapping[str, str]) -> dict[str, Any]:
    """Summarize a strategy's speed relative to its bound's: over all prompts, and in each category, the largest regret
    first. Each interval holds for itself alone."""
    groups: dict[str, list[str]] = {}
    for prompt in found.times[label]:
        groups.setdefault(categories.get(prompt, ""), []).append(prompt)
    overall = _regret(label, bound, found)
    parts = [
        {"category": category, **_regret(label, bound, found.only(prompts))} for category, prompts in groups.items()
    ]
    return {
        "bound": bound,
        **overall,
        "by_category": sorted(parts, key=lambda part: -part["regret"]) if len(parts) > 1 else [],
        "sentence": _sentence(label, bound, overall),
    }


def _regret(label: str, bound: str, found: Race) -> dict[str, Any]:
    reached = speedups([found], {found.load: bound})[label]
    assert reached
    return {"regret": 1 - reached.ratio, "reached": dataclasses.asdict(reached)}


def _sentence(label: str, bound: str, overall: Mapping[str, Any]) -> str:
    reached, share = overall["reached"], overall["regret"]
    prompts = "1 prompt" if reached["prompts"] == 1 else f"{reached['prompts']} prompts"
    low, high = reached["low"], reached["high"]
    doubt = prompts
    if low is not None:
        doubt = f"95 % interval {100 * (1 - high):.0f} % to {100 * (1 - low):.0f} %, {prompts}"
    if share <= 0:
        return f"{label} was as fast as its bound {bound}: it has no regret ({doubt})."
    return f"The regret of {label} is {100 * share:.0f} % of the speed of its bound {bound} ({doubt})."
