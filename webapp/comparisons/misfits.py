"""Warnings about classifiers that a comparison uses under another sampling, or on another machine, than those of their
training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from decoding.public import Choice, Sampling, misfit
from webapp.studies.models import Classifier


def misfits(choices: Mapping[str, Choice], sampling: Sampling, machines: Sequence[str] = ()) -> list[str]:
    """Return a warning for each strategy with such a classifier. `choices` are keyed by display name. `machines` are
    the devices that run them or may run them, as far as they are known."""
    named = {name: UUID(str(c.params["classifier"])) for name, c in choices.items() if c.params.get("classifier")}
    if not named:
        return []
    rows = Classifier.objects.filter(pk__in=named.values()).values_list("pk", "card__sampling", "card__machine")
    cards: dict[UUID, dict[str, Any]] = {pk: {"sampling": how, "machine": where} for pk, how, where in rows}
    found = []
    for name, pk in named.items():
        card, weighs = cards.get(pk, {}), bool(choices[name].price_rule)
        fits = any(str(card.get("machine")) in machine for machine in machines)
        found.append(misfit(name, card, sampling, "" if fits else " or ".join(machines), weighs=weighs))
    return list(filter(None, found))
