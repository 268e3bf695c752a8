from decoding.drafting.source import Chain
from decoding.drafting.strategy import Looks, Strategy

STRATEGY = Strategy(
    slug="autoregressive",
    title="Autoregressive",
    summary="The target alone, one token a pass: the baseline.",
    role="baseline",
    order=1,
    looks=Looks("●", "M7.5,0A7.5,7.5 0 1 1 -7.5,0A7.5,7.5 0 1 1 7.5,0Z", "#777", "#9a9a9a", 246),
    usual=({},),
    source=lambda given: Chain(),
    needs_draft=False,
)
