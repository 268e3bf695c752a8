"""Warnings about classifiers that a comparison uses under another sampling than that of their training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from decoding.public import Choice, Sampling, misfit
from webapp.studies.models import Classifier


def misfits(choices: Mapping[str, Choice], sampling: Sampling) -> list[str]:
    """Return a warning for each strategy with such a classifier. `choices` are keyed by display name."""
    named = {name: UUID(str(c.params["classifier"])) for name, c in choices.items() if c.params.get("classifier")}
    if not named:
        return []
    trained: dict[UUID, Any] = dict(
        Classifier.objects.filter(pk__in=named.values()).values_list("pk", "card__sampling")
    )
    found = (misfit(name, {"sampling": trained.get(pk)}, sampling) for name, pk in named.items())
    return list(filter(None, found))
