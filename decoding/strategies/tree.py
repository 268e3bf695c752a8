"""Several candidates at each depth of a draft, verified in one pass (arXiv 2305.09781, 2406.16858, 2402.12374)."""

import itertools
import re
from collections.abc import Iterator, Mapping

from decoding.drafting.params import Param, Value
from decoding.drafting.source import Given, Source
from decoding.drafting.strategy import LONGEST, Looks, Settings, Slider, Strategy
from decoding.drafting.tree_shapes import (
    MOST_TOKENS,
    LikeliestPaths,
    RankCounts,
    ShapeByWorth,
    ShapedTree,
    TreeShape,
)
from decoding.errors import BadStrategy

BY_WORTH = "auto"
LIKELIEST = re.compile(r"([0-9]{1,2})x([0-9]{1,2})")
ROWS = (2, 4, 8, 16, 32, MOST_TOKENS)  # that a planner tries
DEPTHS = (2, 3, 4, 6, 9, 13)


def depth_and_width(shape: str) -> tuple[int, int] | None:
    """Read `4x2`: 4 tokens deep, the 2 likeliest paths at each depth. None if it is no such shape."""
    match = LIKELIEST.fullmatch(shape.strip())
    return (int(match[1]), int(match[2])) if match else None


def _source(given: Given, shape: str, rows: int, depth: int) -> Source:
    if shape.strip() == BY_WORTH:
        return ShapeByWorth(given.memory.setdefault("ranks", RankCounts()), rows, depth)
    paths = depth_and_width(shape)
    return LikeliestPaths(*paths) if paths else ShapedTree(TreeShape.read(shape.strip()))


def _check(params: Mapping[str, Value]) -> None:
    shape = str(params["shape"])
    if not 1 <= _tokens(shape) <= MOST_TOKENS:
        raise BadStrategy(
            f"shape is {shape[:40]!r}; write auto, or 4x2 for depth x likeliest paths, or 3/21/1 for the followers of "
            f"each place of a level, with 1 to {MOST_TOKENS} tokens in all"
        )


def _tokens(shape: str) -> int:
    """Count the tokens of a shape; 0 if it is none."""
    if shape.strip() == BY_WORTH:
        return 1
    depth, width = depth_and_width(shape) or (0, 0)
    if depth or len(shape) > 4 * MOST_TOKENS:
        return depth * width
    try:
        return len(TreeShape.read(shape.strip()))
    except ValueError:
        return 0


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
            "auto: the shape that has paid best so far; 4x2: the 2 likeliest paths, 4 tokens deep; "
            "3/21/1: 3 alternatives; 2 followers of the first and 1 of the second; 1 more after the first of these",
        ),
        Param("rows", "int", 8, "with shape auto: how many tokens a tree has", 1, MOST_TOKENS),
        Param("depth", "int", 4, "with shape auto: how many tokens deep a tree may be", 1, LONGEST),
    ),
    check=_check,
    source=_source,
    grid=_grid,
    not_in_traces="tree:4x2",
    why_not="the draft's probabilities of its second choices shape this tree, and traces do not hold them",
    sliders=(Slider("rows", 1, MOST_TOKENS), Slider("depth", 1, LONGEST)),
)
