"""Files of a finished figure: its points as CSV, and a script that draws them with matplotlib. Standard library only.

Both are made from the figure's plain data, so the service, the terminal and an old document give the same files.
"""

from __future__ import annotations

import csv
import io
import pprint
from collections.abc import Callable, Mapping
from string import Template
from typing import Any

HEADS = ("series", "origin", "grade", "source", "x", "y", "low", "high", "label")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute

SCRIPT = Template(
    '''# /// script
# dependencies = ["matplotlib"]
# ///
"""Draws a figure that Drafthouse made: `uv run $slug.py` writes $slug.svg and $slug.pdf beside this file."""

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

FIGURE = $data
OURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # colours; published series are grey
MARKERS, DASHES = "os^Dv<", ("--", ":", "-.", (0, (2, 2)), (0, (8, 3)), (0, (3, 1)))  # of published series
WRITTEN = {
    "number": lambda value, _: f"{value:g}",
    "share": lambda value, _: f"{100 * value:.3g} %",
    "times": lambda value, _: f"{value:.3g}x",
}
LABEL = 16  # letters beside a point


def draw(axes, series, place, aside):
    points = [point for point in series["points"] if point["y"] > 0 or not FIGURE["y"]["log"]]
    is_line = series["is_line"] and not FIGURE["x"]["names"]
    look = {"color": OURS[place % 6], "marker": "o", "linestyle": "-"}
    if series["origin"] == "published":
        look = {"color": "0.5", "marker": MARKERS[place % 6], "fillstyle": "none", "linestyle": DASHES[place % 6]}
    below = [0 if point["low"] is None else max(0, point["y"] - point["low"]) for point in points]
    above = [0 if point["high"] is None else max(0, point["high"] - point["y"]) for point in points]
    axes.errorbar(
        [point["x"] + aside for point in points],
        [point["y"] for point in points],
        (below, above),
        label=f"{series['name']} ({series['origin']})",
        markersize=4,
        elinewidth=0.8,
        **(look if is_line else look | {"linestyle": ""}),
    )
    if is_line and points and all(0 < len(point["label"]) <= LABEL for point in points):
        for point in (points[0], points[-1]):  # neither axis says what its points stand for
            axes.annotate(point["label"], (point["x"], point["y"]), (4, 3), textcoords="offset points", fontsize=6)


def main():
    x, y, every = FIGURE["x"], FIGURE["y"], FIGURE["series"]
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    axes = figure.subplots()
    places = {True: 0, False: 0}
    for number, series in enumerate(every):
        is_published = series["origin"] == "published"
        draw(axes, series, places[is_published], 0.06 * (number - (len(every) - 1) / 2) if x["names"] else 0)
        places[is_published] += 1
    for scaled, name, axis, marks in ((x, "x", axes.xaxis, (2, (1,))), (y, "y", axes.yaxis, (10, (1, 2, 5)))):
        axis.set_label_text(scaled["label"], fontsize=8)
        if scaled["log"]:
            axes.set(**{f"{name}scale": "log"})
            axis.set_major_locator(LogLocator(*marks))
        axis.set_major_formatter(WRITTEN[scaled["format"]])
    if x["names"]:
        axes.set_xticks(range(len(x["names"])), x["names"], rotation=20, ha="right")
    values = [point["y"] for series in every for point in series["points"] if point["y"] > 0 or not y["log"]]
    axes.set_ylim(bottom=min(values) / 1.3 if y["log"] else min(0, axes.get_ylim()[0]))
    axes.tick_params(labelsize=8)
    axes.minorticks_off()
    axes.grid(axis="y", color="0.9")
    axes.set_title(f"{FIGURE['number']}. {FIGURE['title']}", fontsize=9, wrap=True)
    figure.legend(fontsize=7, frameon=False, loc="outside lower center", ncols=2)
    for ending in (".svg", ".pdf"):
        figure.savefig(Path(__file__).with_suffix(ending))


main()
'''
)


def table(figure: Mapping[str, Any]) -> str:
    """Write one row for each point, with the interval where there is one."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(HEADS)
    names = figure["x"]["names"]
    for series in figure["series"]:
        about = [_plain(series[name]) for name in ("name", "origin", "grade", "source")]
        for point in series["points"]:
            x = _plain(names[int(point["x"])]) if names else point["x"]
            rows.writerow([*about, x, point["y"], point["low"], point["high"], _plain(point["label"])])
    return out.getvalue()


def script(figure: Mapping[str, Any]) -> str:
    """Write a Python script that holds the figure's data and draws it."""
    return SCRIPT.substitute(slug=figure["slug"], data=pprint.pformat(dict(figure), width=110, sort_dicts=False))


def _plain(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text


FILES: Mapping[str, Callable[[Mapping[str, Any]], str]] = {"csv": table, "py": script}
