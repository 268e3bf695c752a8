"""Several candidates at each depth of a draft, verified in one pass (arXiv 2305.09781, 2406.16858, 2402.12374)."""

import itertools
from collections.abc import Iterator, Mapping

from decoding.drafting.params import Param, Value
from decoding.drafting.source import Given
from decoding.drafting.strategy import LONGEST, Looks, Settings, Slider, Strategy
from decoding.drafting.tree_shapes import MOST_TOKENS, RankCounts, ShapeByWorth, ShapedTree, TreeShape
from decoding.errors import BadStrategy

BY_WORTH = "auto"
ROWS = (2, 4, 8, 16, 32, MOST_TOKENS)  # that a planner tries
DEPTHS = (2, 3, 4, 6, 9, 13)


def _source(given: Given, shape: str, rows: int, depth: int) -> ShapedTree:
    if fixed := _fixed(shape):
        return ShapedTree(fixed)
    return ShapeByWorth(given.memory.setdefault("ranks", RankCounts()), rows, depth)


def _check(params: Mapping[str, Value]) -> None:
    shape = str(params["shape"])
    if shape.strip() != BY_WORTH and not _fixed(shape):
        raise BadStrategy(
            f"shape is {shape[:40]!r}; write auto, or 3/21/1 for the followers of each place of a level, with "
            f"1 to {MOST_TOKENS} tokens in all"
        )


def _fixed(shape: str) -> TreeShape | None:
    """Read a shape; None if it is none, or too large. Rows of earlier versions have other words than auto."""
    if len(shape) > 4 * MOST_TOKENS:
        return None
    try:
        found = TreeShape.read(shape.strip())
    except ValueError:
        return None
    return found if len(found) <= MOST_TOKENS else None


def _grid() -> Iterator[Settings]:
    for rows, depth in itertools.product(ROWS, DEPTHS):
        if depth <= rows:
            yield {"shape": BY_WORTH, "rows": rows, "depth": depth}


STRATEGY = Strategy(
    slug="tree",
    title="Tree",
    summary="Drafts several candidates for each position. One pass of the target finds the path that it would write.",
    role="ranked",
    order=15,
    looks=Looks("⋔", "M-1.4,9V2L-8,-5L-6,-7L-1.4,-2.4V-9H1.4V-2.4L6,-7L8,-5L1.4,2V9Z", "#0f5c38", "#a4d99a", 29),
    params=(
        Param(
            "shape",
            "text",
            BY_WORTH,
            "auto: the shape that has paid best so far; 3/21/1: 3 alternatives; 2 followers of the first and 1 of the "
            "second; 1 more after the first of these",
        ),
        Param("rows", "int", 8, "with shape auto: how many tokens a tree has", 1, MOST_TOKENS),
        Param("depth", "int", 4, "with shape auto: how many tokens deep a tree may be", 1, LONGEST),
    ),
    check=_check,
    source=_source,
    grid=_grid,
    sliders=(Slider("rows", 1, MOST_TOKENS), Slider("depth", 1, LONGEST)),
)
