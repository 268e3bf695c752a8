"""Warnings about classifiers that a comparison uses under another sampling, or on another machine, than those of their
training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from decoding.public import Choice, Sampling, misfit
from webapp.studies.models import Classifier


def misfits(choices: Mapping[str, Choice], sampling: Sampling, machine: str = "") -> list[str]:
    """Return a warning for each strategy with such a classifier. `choices` are keyed by display name. `machine` is the
    device that runs them, if that is known."""
    named = {name: UUID(str(c.params["classifier"])) for name, c in choices.items() if c.params.get("classifier")}
    if not named:
        return []
    rows = Classifier.objects.filter(pk__in=named.values()).values_list("pk", "card__sampling", "card__machine")
    cards: dict[UUID, dict[str, Any]] = {pk: {"sampling": how, "machine": where} for pk, how, where in rows}
    found = (misfit(name, cards.get(pk, {}), sampling, machine) for name, pk in named.items())
    return list(filter(None, found))
