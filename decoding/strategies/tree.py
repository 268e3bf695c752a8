"""Several candidates at each depth of a draft, verified in one pass (arXiv 2305.09781, 2406.16858)."""

import re
from collections.abc import Mapping
from typing import Any

from decoding.errors import BadStrategy
from decoding.params import Param, Value
from decoding.strategy import Looks, Parts, Strategy

MOST_TOKENS = 64  # of one tree
SHAPE = re.compile(r"([0-9]{1,2})x([0-9]{1,2})")


def depth_and_width(shape: str) -> tuple[int, int]:
    """Read `4x2`: 4 tokens deep, the 2 likeliest paths at each depth."""
    match = SHAPE.fullmatch(shape.strip())
    depth, width = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= depth * width <= MOST_TOKENS:
        raise BadStrategy(
            f"shape is {shape[:40]!r}; write it as 4x2, depth x paths at each depth, with 1 to {MOST_TOKENS} tokens in "
            "all"
        )
    return depth, width


def _check(params: Mapping[str, Value]) -> None:
    depth_and_width(str(params["shape"]))


def _build(parts: Parts, shape: str) -> Any:
    return parts.tree(*depth_and_width(shape))


STRATEGY = Strategy(
    slug="tree",
    title="Tree",
    summary="Drafts the likeliest paths side by side, and one pass of the target finds the one that it would write.",
    role="ranked",
    order=15,
    looks=Looks("⋔", "M-1.4,9V2L-8,-5L-6,-7L-1.4,-2.4V-9H1.4V-2.4L6,-7L8,-5L1.4,2V9Z", "#00715a", "#43c9a6", 29),
    params=(Param("shape", "text", "4x2", "depth x paths at each depth"),),
    check=_check,
    build=_build,
)
