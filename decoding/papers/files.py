"""Points of a finished figure as CSV. Standard library only."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import Any

HEADS = ("series", "origin", "grade", "source", "x", "y", "low", "high", "label")
FORMULA = ("=", "+", "-", "@", "\t", "\r")  # what a spreadsheet would compute


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


def _plain(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text
