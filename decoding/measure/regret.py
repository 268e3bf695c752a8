"""Regret: the share of a bound's speed that a strategy did not reach, over all prompts and by category.

The bound knows what the strategy must guess, so the regret is what better guesses could bring. Standard library only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from decoding.load import ONE
from decoding.measure.sample import Sample
from decoding.measure.speedups import Ratios, decode_speed, end_to_end_speed, ratios, speedups
from decoding.spec import Choice


def regrets(choices: Sequence[Choice], by_label: Mapping[str, Sequence[Sample]]) -> Iterator[dict[str, Any] | None]:
    """Yield the regret of each choice against its bound at the same load; None if there is none, or it did not run."""
    for choice in choices:
        bound = next((one for one in choices if one.load == choice.load and one.strategy == choice.spec.bound), None)
        speed = decode_speed if choice.load == ONE else end_to_end_speed
        own = by_label[choice.label]
        reached = ratios(own, by_label[bound.label], speed) if bound else {}
        yield regret(choice.label, bound.label, reached, categories_of(own)) if bound and reached else None


def categories_of(samples: Iterable[Sample]) -> dict[str, str]:
    """Return the category of each prompt; a conversation has that of its first turn."""
    found: dict[str, str] = {}
    for sample in samples:
        found.setdefault(sample.conversation or sample.prompt, sample.category)
    return found


def regret(label: str, bound: str, reached: Ratios, categories: Mapping[str, str]) -> dict[str, Any]:
    """Summarize the ratios of a strategy's speed to its bound's, by prompt: all of them, and each category, the largest
    regret first. Each interval holds for itself alone."""
    groups: dict[str, dict[str, float]] = {}
    for prompt, ratio in reached.items():
        groups.setdefault(categories[prompt], {})[prompt] = ratio
    overall = _regret(reached)
    parts = [{"category": category, **_regret(column)} for category, column in groups.items()]
    return {
        "bound": bound,
        **overall,
        "by_category": sorted(parts, key=lambda part: -part["regret"]) if len(parts) > 1 else [],
        "sentence": _sentence(label, bound, overall),
    }


def _regret(reached: Ratios) -> dict[str, Any]:
    [found] = speedups([reached])
    assert found
    return {"regret": 1 - found.median, "reached": dataclasses.asdict(found)}


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
