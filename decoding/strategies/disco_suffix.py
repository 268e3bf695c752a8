"""Suffix decoding with DISCO's classifier: it estimates each copied token from the length and counts of its match and
from its position. The copy ends where it is less likely to be accepted whole than the threshold."""

from collections.abc import Iterator

from decoding.params import Param
from decoding.source import Given
from decoding.strategies.suffix import SuffixDecoding
from decoding.strategy import CAP, CLASSIFIER, LONGEST, Looks, Settings, Slider, Strategy

THRESHOLD = Param(
    "threshold",
    "float",
    0.0,
    "stop when the whole copy is less likely to be accepted than this; 0: the classifier's own value",
    0.0,
    1.0,
)
SLIDERS = (Slider("threshold", 0.05, 0.95, 0.05), Slider("cap", 1, LONGEST))


def _source(given: Given, threshold: float, cap: int, classifier: str) -> SuffixDecoding:
    judge = given.judge
    return SuffixDecoding(threshold or (judge.threshold if judge else 0.0), cap, judge)


def _grid() -> Iterator[Settings]:
    return ({"threshold": step / 20, "cap": LONGEST} for step in range(1, 19, 2))


STRATEGY = Strategy(
    slug="disco-suffix",
    title="DISCO on suffix decoding",
    summary="Copies as suffix decoding does; a classifier that has learned from copies decides where each copy ends.",
    role="ranked",
    order=11,
    looks=Looks(
        "◑", "M8.5,0A8.5,8.5 0 1 1 -8.5,0A8.5,8.5 0 1 1 8.5,0ZM0,-6.5A6.5,6.5 0 0 0 0,6.5Z", "#b967d3", "#bb68d5", 134
    ),
    params=(
        THRESHOLD,
        Param("cap", "int", 20, CAP, 1, 64),
        CLASSIFIER,
    ),
    source=_source,
    swept=("copied",),
    price_rule=lambda params: "" if params["threshold"] else "copied",
    grid=_grid,
    sliders=SLIDERS,
    needs_draft=False,
)
