"""Marks and colours of strategies: any two can stand in one chart."""

from __future__ import annotations

import math
from itertools import combinations

from decoding.strategies import STRATEGIES

APART = 0.075  # in Oklab, where 0.02 is the least that people see


def test_no_two_strategies_have_one_mark_or_colours_that_look_alike() -> None:
    looks = {slug: strategy.looks for slug, strategy in STRATEGIES.items()}
    assert len({each.path for each in looks.values()}) == len({each.glyph for each in looks.values()}) == len(looks)
    for paper in ("light", "dark"):
        colours = {
            slug: oklab(each.dark if paper == "dark" and each.dark else each.light) for slug, each in looks.items()
        }
        near = [pair for pair in combinations(colours, 2) if math.dist(*(colours[slug] for slug in pair)) < APART]
        assert near == [], paper


def oklab(colour: str) -> tuple[float, float, float]:
    """Return lightness, green to red and blue to yellow of an sRGB colour (Ottosson 2020)."""
    digits = colour.removeprefix("#")
    full = digits if len(digits) == 6 else "".join(2 * digit for digit in digits)
    shares = [int(full[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in shares)
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )
