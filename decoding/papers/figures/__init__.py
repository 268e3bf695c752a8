"""Figures of the papers, one module each: a file that lies here is drawn. It holds FIGURE, a
`decoding.papers.figure.Figure`, and the file's name is its slug, with `-` for `_`.

Importing a figure loads no torch: what is computed comes from the evidence that it is given.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from types import ModuleType

from decoding.papers.figure import Figure
from decoding.scan import modules_in

PARTS = {"FIGURE": "a Figure(…)"}


def _figure(module: ModuleType) -> Figure:
    found, name = module.FIGURE, module.__name__.rpartition(".")[2]
    if not isinstance(found, Figure):
        raise ImportError(f"{module.__name__} lacks FIGURE, a Figure(…).")
    return replace(found, slug=name.replace("_", "-"))


def figures_in(package: ModuleType) -> dict[str, Figure]:
    """Find the figures of a package, by slug, in the order of their files' names."""
    return {figure.slug: figure for figure in map(_figure, modules_in(package, PARTS))}


FIGURES = figures_in(sys.modules[__name__])
