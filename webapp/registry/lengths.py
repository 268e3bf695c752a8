"""Token counts of a set's prompts under a pair. Only the pair's tokenizer can tell, so a worker counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction

from webapp.accounts.actor import Actor
from webapp.accounts.rights import Right
from webapp.jobs import services as jobs
from webapp.jobs.models import Job
from webapp.registry.kinds import COUNT_TOKENS
from webapp.registry.models import Dataset, Pair, TokenLengths

Contexts = tuple[int | None, int | None]  # of target and draft, if the models state them
BARS = 24  # about so many in a histogram
MOST_NAMED = 20  # prompts that are too long, listed by their numbers


@transaction.atomic
def count(*, dataset: Dataset, pair: Pair, by: Actor) -> TokenLengths:
    """Have a worker count, unless a count exists or is under way: prompts and pair never change."""
    by.require(Right.SUBMIT)
    lengths = TokenLengths.objects.select_related("job").filter(dataset=dataset, pair=pair).first()
    if lengths is not None and not lengths.is_given_up:
        return lengths
    title = f"Count tokens of {dataset.name} for {pair.name}"
    job = jobs.enqueue(kind=COUNT_TOKENS, title=title, by=by, total=dataset.prompt_count)
    return TokenLengths.objects.update_or_create(dataset=dataset, pair=pair, defaults={"job": job})[0]


@transaction.atomic
def counted(*, job: Job, lengths: Sequence[int], contexts: Contexts) -> None:
    """Store a worker's counts: the length of each prompt in order, and the contexts of target and draft."""
    jobs.require_lease(job)
    TokenLengths.objects.filter(job=job).update(document=document_of(lengths, contexts))


def document_of(lengths: Sequence[int], contexts: Contexts) -> dict[str, Any]:
    in_order = sorted(lengths)
    return {
        "prompt_count": len(lengths),
        "total": sum(lengths),
        "shortest": in_order[0],
        "median": in_order[len(in_order) // 2],
        "longest": in_order[-1],
        "context": dict(zip(("target", "draft"), contexts, strict=True)),
        "over": {role: _over(lengths, most) for role, most in zip(("target", "draft"), contexts, strict=True)},
        "histogram": _histogram(in_order),
    }


def _over(lengths: Sequence[int], most: int | None) -> dict[str, Any]:
    """Find the prompts that leave no room for a single new token."""
    numbers = [number for number, length in enumerate(lengths, 1) if most is not None and length >= most]
    return {"count": len(numbers), "first": numbers[:MOST_NAMED]}


def _histogram(in_order: Sequence[int]) -> list[dict[str, int]]:
    """Count lengths into bars of one round width, from the shortest to the longest; `low` is included, `high` is
    not."""
    width = _round_width(in_order[-1] - in_order[0] + 1)
    first = in_order[0] // width
    bars = [0] * (in_order[-1] // width - first + 1)
    for length in in_order:
        bars[length // width - first] += 1
    return [
        {"low": (first + index) * width, "high": (first + index + 1) * width, "count": count}
        for index, count in enumerate(bars)
    ]


def _round_width(span: int) -> int:
    power = 1
    while True:
        for step in (1, 2, 5):
            if step * power * BARS >= span:
                return step * power
        power *= 10
