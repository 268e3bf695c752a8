"""Bound for the hybrid: it knows which source the target will accept for longer, and where it will refuse."""

from typing import Any

from decoding.sources import Knowledge
from decoding.strategies.oracle import UntilRefused
from decoding.strategies.suffix import SuffixDecoding
from decoding.strategy import LONGEST, Looks, Strategy


def _build(parts: Any) -> Any:
    from decoding.drafters.best_source import BestSourceDrafter

    knowledge = parts.memory.setdefault("best-source", Knowledge())
    model = parts.drafter(UntilRefused(LONGEST))
    return BestSourceDrafter(parts, model, SuffixDecoding(0.0, LONGEST), knowledge)


STRATEGY = Strategy(
    slug="best-source",
    title="Best source",
    summary="A bound, not a strategy: drafts from the source that brings more, and stops where the target will refuse.",
    role="bound",
    order=12,
    looks=Looks("◎", "M0,-9L9,0L0,9L-9,0ZM0,-5L-5,0L0,5L5,0Z", "#333", "#ddd"),
    build=_build,
)
