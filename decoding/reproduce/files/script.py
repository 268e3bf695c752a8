"""A figure as a Python script that holds its data and draws it with matplotlib."""

from __future__ import annotations

import pprint
from collections.abc import Mapping
from typing import Any

HEAD = '''"""{title}. Made by Drafthouse; run it with matplotlib installed: python {slug}.py"""

import matplotlib.pyplot as plt

FIGURE = {data}
'''
BODY = """DASHES = ("--", ":", "-.", (0, (2, 2)), (0, (8, 3)))  # of published series


def main():
    x, y, names = FIGURE["x"], FIGURE["y"], FIGURE["x"]["names"]
    figure, axes = plt.subplots(figsize=(5.6, 3.8), layout="constrained")
    dashes = iter(DASHES * len(FIGURE["series"]))
    for number, series in enumerate(FIGURE["series"]):
        is_published = series["origin"] == "published"
        style = next(dashes) if is_published else "-"
        aside = 0.06 * (number - (len(FIGURE["series"]) - 1) / 2) if names else 0
        points = [point for point in series["points"] if point[1] > 0 or not y["log"]]
        at = [point[0] + aside for point in points]
        line = axes.plot(
            at,
            [point[1] for point in points],
            linestyle=style if series["is_line"] and not names else "",
            marker="o",
            markersize=4,
            fillstyle="none" if is_published else "full",
            color="0.45" if is_published else None,
            label=f"{series['name']} ({series['origin']})",
        )[0]
        for left, (_, value, low, high) in zip(at, points):
            if low is not None:
                lowest = max(low, value / 100) if y["log"] else low
                axes.plot([left, left], [lowest, high], color=line.get_color(), linewidth=0.8)
    if names:
        axes.set_xticks(range(len(names)), names, rotation=20, ha="right")
    axes.set(xlabel=x["label"], ylabel=y["label"])
    axes.set_title(FIGURE["title"], fontsize=9)
    axes.set_xscale("log" if x["log"] else "linear")
    values = sorted({point[0] for series in FIGURE["series"] for point in series["points"]})
    if x["log"] and len(values) <= 9:
        axes.set_xticks(values, [f"{value:g}" for value in values])
        axes.minorticks_off()
    axes.set_yscale("log" if y["log"] else "linear")
    axes.grid(axis="y", color="0.9")
    figure.legend(fontsize=7, frameon=False, loc="outside lower center", ncols=2)
    for ending in ("pdf", "png"):
        figure.savefig(f"{FIGURE['slug']}.{ending}", dpi=200)


main()
"""


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
    return HEAD.format(title=title, slug=figure["slug"], data=data) + BODY
