"""The mark and the colour of every strategy, as a browser draws them: any two can stand in one chart."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from decoding.public import STRATEGIES

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MARKS_APART = 0.2  # of the area that either covers
COLOURS_APART = 0.075  # in Oklab, where 0.02 is the least that people see
PIXELS = 60
DRAWN = """([paths, pixels]) => paths.map((path) => {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = pixels;
    const context = canvas.getContext("2d");
    context.scale(pixels / 20, pixels / 20);
    context.translate(10, 10);
    context.fill(new Path2D(path));
    return [...context.getImageData(0, 0, pixels, pixels).data].filter((_, at) => at % 4 === 3);
})"""
PAINTED = """(slugs) => slugs.map((slug) => {
    const thing = document.body.appendChild(document.createElement("i"));
    thing.className = `s-${slug}`;
    thing.style.color = "var(--c)";
    return getComputedStyle(thing).color.match(/[0-9]+/g).map(Number);
})"""


def test_no_two_strategies_have_marks_or_colours_that_look_alike(open_page):
    page = open_page("/comparisons/")
    drawn = page.evaluate(DRAWN, [[strategy.looks.path for strategy in STRATEGIES.values()], PIXELS])
    assert near(dict(zip(STRATEGIES, drawn, strict=True)), differing, MARKS_APART) == []
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        colours = {
            slug: oklab(colour) for slug, colour in zip(STRATEGIES, page.evaluate(PAINTED, [*STRATEGIES]), strict=True)
        }
        assert near(colours, math.dist, COLOURS_APART) == [], scheme


def near(things, distance, least):
    """Return the pairs of things that are less than `least` apart."""
    pairs = combinations(things, 2)
    return [(one, other) for one, other in pairs if distance(things[one], things[other]) < least]


def differing(one, other):
    """Part of the area of either mark that only one of them covers."""
    apart = sum(abs(a - b) for a, b in zip(one, other, strict=True))
    return apart / sum(map(max, one, other))


def oklab(colour):
    """Lightness, green to red and blue to yellow of an sRGB colour (Ottosson 2020)."""
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in colour))
    long = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue) ** (1 / 3)
    middle = (0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue) ** (1 / 3)
    short = (0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short,
    )
