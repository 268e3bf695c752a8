"""SSD where DISCO's classifier decides."""

from typing import Any

from decoding.params import Param
from decoding.ssd.settings import Settings
from decoding.strategies.ssd import BRANCHES, PLACEMENT
from decoding.strategy import CAP, CLASSIFIER, Looks, Parts, Strategy


def _build(parts: Parts, cap: int, branches: int, classifier: str, placement: str) -> Any:
    settings = Settings(lookahead=cap, branches=branches, backup="neural")
    return parts.speculating(placement, settings, parts.classifier(classifier))


STRATEGY = Strategy(
    slug="ssd-disco",
    title="SSD with DISCO",
    summary="SSD where the trained classifier says which outcomes are prepared, how deep, and how much is verified.",
    role="ranked",
    order=8,
    looks=Looks(
        "◀",
        "M0.0,-9.5L2.4,-3.2L9.0,-2.9L3.8,1.2L5.6,7.7L0.0,4.0L-5.6,7.7L-3.8,1.2L-9.0,-2.9L-2.4,-3.2Z",
        "#d55e00",
        "#ee7f3a",
        166,
    ),
    params=(Param("cap", "int", 8, CAP, 1, 64), BRANCHES, CLASSIFIER, PLACEMENT),
    build=_build,
    demo=({},),
    prepares_ahead=True,
)
