"""Servers in a comparison: find the endpoints that its strategies name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import QuerySet

from decoding.public import DIALECTS, STRATEGIES, Choice, Sampling, meant
from webapp.core.problems import Invalid
from webapp.registry.models import Dataset, Endpoint, Prompt


def named_in(strategies: Sequence[Mapping[str, Any]], dataset: Dataset, sampling: Sampling) -> dict[str, Endpoint]:
    """Return the team's endpoints that the strategies name. Raise Invalid for one that is unknown, and for what its
    requests cannot ask."""
    asked = {index: one.get("params") or {} for index, one in enumerate(strategies) if is_server(one["strategy"])}
    if not asked:
        return {}
    there = {one.name: one for one in Endpoint.objects.filter(team=dataset.team_id, binned=None)}
    found = {}
    for index, params in asked.items():
        name = str(params.get("name", ""))
        if name not in there:
            raise Invalid(
                f"Your team has no server {name[:80]!r}.{meant(name, there)}",
                field=f"strategies.{index}.params.name",
                hint=f"There are {', '.join(there)}." if there else "Register one first.",
                code="no-such-server",
            )
        _require_can(there[name], sampling)
        found[name] = there[name]
    return found


def require_server(choice: Choice, index: int) -> None:
    """Refuse a strategy of ours where no pair is chosen."""
    if choice.spec.role != "server":
        raise Invalid(
            f"{choice.label} needs a pair, and none is chosen.",
            field="pair",
            hint="Choose a pair, or compare servers alone.",
            code="no-pair",
        )


def require_plain(prompts: QuerySet[Prompt]) -> None:
    """Refuse chats where no target is here whose template would render them."""
    if any(chat for chat in prompts.values_list("chat", flat=True)):
        raise Invalid(
            "These prompts are chats, and no target is here whose template renders them.",
            field="dataset",
            hint="Choose a pair, or a prompt set of plain texts.",
            code="no-template",
        )


def is_server(slug: str) -> bool:
    return STRATEGIES[slug].role == "server"


def _require_can(endpoint: Endpoint, sampling: Sampling) -> None:
    if sampling.ignore_eos and not DIALECTS[endpoint.dialect].goes_past_end:
        raise Invalid(
            f"{endpoint.dialect_title} cannot ignore the end token.",
            field="sampling.ignore_eos",
            hint=f"Switch that off, or leave {endpoint.name} out.",
        )
