"""A figure as a Python script that holds its data and draws it with matplotlib."""

from __future__ import annotations

import pprint
from collections.abc import Mapping
from typing import Any

from decoding.papers.files.plate import Shape, labels, look, scales

HEAD = '''"""{title}. Made by Drafthouse; run it with matplotlib installed: python {slug}.py"""

import matplotlib.pyplot as plt

FIGURE = {data}
LOOKS = {looks}  # colour, dashes and dots of each series
REACH = {reach}  # of the upward axis
ACROSS, UP = {across}, {up}  # marks of the axes
LABELS = {labels}  # beside points
'''
BODY = """

def main():
    x, y, names = FIGURE["x"], FIGURE["y"], FIGURE["x"]["names"]
    figure, axes = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
    for number, series in enumerate(FIGURE["series"]):
        color, dash, marker = LOOKS[number]
        aside = 0.06 * (number - (len(FIGURE["series"]) - 1) / 2) if names else 0
        points = [point for point in series["points"] if point[1] > 0 or not y["log"]]
        at = [point[0] + aside for point in points]
        axes.plot(
            at,
            [point[1] for point in points],
            linestyle=((0, dash) if dash else "-") if series["is_line"] and not names else "",
            marker=marker,
            markersize=4,
            fillstyle="none" if series["origin"] == "published" else "full",
            color=color,
            label=f"{series['name']} ({series['origin']})",
        )
        for left, (_, value, low, high) in zip(at, points):
            if low is not None:
                axes.plot([left, left], [max(low, REACH[0]), high], color=color, linewidth=0.8)
    for left, value, words, anchor in LABELS:
        aside, side = ((-4, -8), "right") if anchor == "end" else ((4, 3), "left")
        axes.annotate(words, (left, value), aside, textcoords="offset points", ha=side, fontsize=6)
    axes.set_xlabel(x["label"], fontsize=8)
    axes.set_ylabel(y["label"], fontsize=8)
    axes.set_title(f"{FIGURE['number']}. {FIGURE['title']}", fontsize=9, wrap=True)
    axes.set_xscale("log" if x["log"] else "linear")
    axes.set_yscale("log" if y["log"] else "linear")
    axes.set_ylim(*REACH)
    axes.minorticks_off()
    if names:
        axes.set_xticks(range(len(names)), names, rotation=20, ha="right")
    else:
        axes.set_xticks([value for value, _ in ACROSS], [words for _, words in ACROSS])
    axes.set_yticks([value for value, _ in UP], [words for _, words in UP])
    axes.grid(axis="y", color="0.9")
    figure.legend(fontsize=7, frameon=False, loc="outside lower center", ncols=2)
    for ending in ("pdf", "png"):
        figure.savefig(f"{FIGURE['slug']}.{ending}", dpi=200)


main()
"""
MARKERS: Mapping[Shape, str] = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "down": "v", "left": "<"}


def script(figure: Mapping[str, Any]) -> str:
    """Write data as a literal and the drawing below it."""
    series = [
        {
            **{name: each[name] for name in ("name", "origin", "grade", "source", "is_line")},
            "points": [(p["x"], p["y"], p["low"], p["high"]) for p in each["points"]],
        }
        for each in figure["series"]
    ]
    kept = {name: figure[name] for name in ("slug", "number", "title", "x", "y", "why", "recipe")}
    data = pprint.pformat({**kept, "series": series}, width=110, sort_dicts=False)
    title = f"{figure['number']} of arXiv {figure['paper']['arxiv']}"
    drawn = [look(series, number) for number in range(len(series))]
    across, up = scales(figure)
    beside = labels(figure, across, up)
    return (
        HEAD.format(
            title=title,
            slug=figure["slug"],
            data=data,
            looks=[(style.colour, tuple(style.dash), MARKERS[style.shape]) for style in drawn],
            reach=(up.low, up.high),
            across=[*across.marks],
            up=[*up.marks],
            labels=[(each.point["x"], each.point["y"], each.point["label"], each.anchor) for each in beside],
        )
        + BODY
    )
