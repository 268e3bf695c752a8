"""Figures of the papers: those of every file that lies here are drawn. Such a file holds FIGURES, each a
`decoding.papers.figure.Figure`.

Importing a figure loads no torch: what is computed comes from the evidence that it is given.
"""

from __future__ import annotations

import sys
from types import ModuleType

from decoding.papers.figure import Figure
from decoding.scan import modules_in

PARTS = {"FIGURES": "a tuple of Figure(…)"}


def figures_in(package: ModuleType) -> dict[str, Figure]:
    """Find the figures of a package, by slug, in the order of the slugs."""
    every: list[Figure] = [figure for module in modules_in(package, PARTS) for figure in module.FIGURES]
    found = {figure.slug: figure for figure in sorted(every, key=lambda figure: figure.slug)}
    if len(found) < len(every):
        raise ImportError(f"Two figures of {package.__name__} have one slug. Give each a slug of its own.")
    return found


FIGURES = figures_in(sys.modules[__name__])
