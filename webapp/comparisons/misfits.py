"""Warnings about classifiers that a comparison uses under another sampling, or on another machine, than those of their
training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from decoding.public import Choice, Sampling, misfit, trained_otherwise
from webapp.studies.models import Classifier


def misfits(choices: Mapping[str, Choice], sampling: Sampling, machines: Sequence[str] = ()) -> list[str]:
    """Return a warning for each strategy with such a classifier. `choices` are keyed by display name. `machines` are
    the devices that run them or may run them, as far as they are known."""
    found = []
    for name, card in _cards(choices).items():
        fits = any(str(card.get("machine")) in machine for machine in machines)
        machine, weighs = "" if fits else " or ".join(machines), bool(choices[name].price_rule)
        found.append(misfit(name, card, sampling, machine, weighs=weighs))
    return list(filter(None, found))


def fitting(choices: Mapping[str, Choice], sampling: Sampling) -> dict[str, Any]:
    """Return the sampling settings that differ from those of a training, as the first such classifier had them."""
    return next(filter(None, (trained_otherwise(card, sampling) for card in _cards(choices).values())), {})


def _cards(choices: Mapping[str, Choice]) -> dict[str, dict[str, Any]]:
    """Return what matters of the card of each choice's classifier, if it has one."""
    named = {name: UUID(choice.classifier) for name, choice in choices.items() if choice.classifier}
    if not named:
        return {}
    rows = Classifier.objects.filter(pk__in=named.values()).values_list("pk", "card__sampling", "card__machine")
    cards = {pk: {"sampling": how, "machine": where} for pk, how, where in rows}
    return {name: cards.get(pk, {}) for name, pk in named.items()}
