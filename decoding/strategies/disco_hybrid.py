"""Hybrid with DISCO's classifier: it estimates each copied token from its match, and each token of the draft model as
in `disco`. How long to copy and to draft follows from its estimates, corrected by recent verdicts."""

from collections.abc import Callable
from typing import Any, ClassVar

from decoding.mixing import Mix
from decoding.sources import Knowledge
from decoding.strategies.hybrid import BestSource
from decoding.strategy import CLASSIFIER, Looks, Sight, Strategy


class Estimated(BestSource):
    sees: ClassVar[Sight] = "estimate"


def _mixes(memory: dict[str, Any], now: Callable[[], int], judge: Any, classifier: str) -> Mix:
    policy = Estimated(memory.setdefault("disco-hybrid", Knowledge()), now, judge)
    return Mix(policy.copying(), policy)


STRATEGY = Strategy(
    slug="disco-hybrid",
    title="DISCO on both sources",
    summary="Drafts as the hybrid does; a classifier that has learned from copies and drafts estimates each token.",
    role="ranked",
    order=12,
    looks=Looks(
        "◒",
        "M8.5,0A8.5,8.5 0 1 1 -8.5,0A8.5,8.5 0 1 1 8.5,0ZM-6.5,0H6.5A6.5,6.5 0 0 0 -6.5,0Z",
        "#7a1f55",
        "#ffa1d6",
        132,
    ),
    params=(CLASSIFIER,),
    mixes=_mixes,
    bound="best-source",
    grid=lambda: ({},),
)
