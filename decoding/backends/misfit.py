"""Classifiers used with another sampling, or on another machine, than they were trained for. Standard library only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from decoding.dice.sampling import Sampling

SETTINGS = ("temperature", "top_k", "top_p", "repetition_penalty", "dice")
DRAWN = ("top_k", "top_p", "dice")  # without effect under greedy decoding


def misfit(label: str, card: Mapping[str, Any], sampling: Sampling, machine: str = "", *, weighs: bool = False) -> str:
    """Return a warning if the card names another sampling or machine than these; empty if they agree, or are not
    known. `weighs`: the run replaces prices that differ by its own."""
    return " ".join(filter(None, (_sampling(label, card, sampling), _machine(label, card, machine, weighs))))


def trained_otherwise(card: Mapping[str, Any], sampling: Sampling) -> dict[str, Any]:
    """Return the sampling settings that the card names and that differ from these, unless greedy decoding ignores
    them."""
    trained = card.get("sampling")
    if not isinstance(trained, Mapping):
        return {}
    used = sampling.to_dict()
    is_greedy = not used["temperature"] and not trained.get("temperature")
    return {
        name: trained[name]
        for name in SETTINGS
        if trained.get(name, used[name]) != used[name] and not (is_greedy and name in DRAWN)
    }


def _machine(label: str, card: Mapping[str, Any], machine: str, weighs: bool) -> str:
    measured = card.get("machine")
    if not machine or not isinstance(measured, str) or measured in ("", machine):
        return ""
    return f"{label} uses a classifier whose prices were measured on {measured}; this runs on {machine}. " + (
        "The run weighs its own passes first, and uses their prices if they differ."
        if weighs
        else "It keeps any price or threshold of the classifier's card: if it is slow, train one on this machine."
    )


def _sampling(label: str, card: Mapping[str, Any], sampling: Sampling) -> str:
    trained, used = trained_otherwise(card, sampling), sampling.to_dict()
    if not trained:
        return ""
    then, now = (
        ", ".join(f"{name.replace('_', ' ')} {settings[name]}" for name in trained) for settings in (trained, used)
    )
    return (
        f"{label} uses a classifier that was trained with {then}; this runs with {now}. It may stop at the wrong "
        "tokens and be slower than a plain rule: train one with this sampling."
    )
