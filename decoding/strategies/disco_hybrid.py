"""Hybrid with DISCO's classifier: it estimates each copied token from its match, and each token of the draft model as
in `disco`. How long to copy and to draft follows from its estimates, corrected by recent verdicts."""

from decoding.source import Given
from decoding.sources import Knowledge
from decoding.strategies.hybrid import BestSource
from decoding.strategy import CLASSIFIER, Looks, Strategy


class Estimated(BestSource):
    sees = "estimate"


def _source(given: Given, classifier: str) -> Estimated:
    return Estimated(given.memory.setdefault("disco-hybrid", Knowledge()), given.judge)


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
    source=_source,
    bound="best-source",
    grid=lambda: ({},),
)
