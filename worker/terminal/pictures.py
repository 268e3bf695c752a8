"""Small charts as SVG files that need nothing to be looked at: they follow the reader's light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 40, 48
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #333; font-variant-numeric: tabular-nums }
.title { font-size: 14px; font-weight: 600 } .rule { stroke: #ddd } .data { stroke: #0072b2; fill: none }
.bar { fill: #0072b2 } .level { stroke: #999; stroke-dasharray: 4 4 } .page { fill: #fff }
@media (prefers-color-scheme: dark) {
  text { fill: #ddd } .rule { stroke: #333 } .data { stroke: #56b4e9 } .bar { fill: #56b4e9 } .page { fill: #161616 }
}
"""


def steps(values: Sequence[float | None], *, level: float, level_name: str, title: str, across: str) -> str:
    """One value per step, with a named level drawn across."""
    most = max([level, 1.0, *(value for value in values if value is not None)])
    width = (WIDTH - LEFT - RIGHT) / len(values)
    path, pen = [], "M"
    for number, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        x, y = LEFT + number * width, _y(value, most)
        path.append(f"{pen}{x:.1f} {y:.1f}H{x + width:.1f}")
        pen = "L"
    y = _y(level, most)
    drawn = [
        f'<line class="level" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>',
        f'<text x="{WIDTH - RIGHT}" y="{y - 6:.1f}" text-anchor="end">{escape(level_name)}</text>',
        f'<path class="data" stroke-width="2" d="{"".join(path)}"/>',
    ]
    return _page(drawn, most, len(values), title, across)


def bars(values: Sequence[int], *, title: str, across: str) -> str:
    """One bar per entry, from zero."""
    most = max([1, *values])
    width = (WIDTH - LEFT - RIGHT) / len(values)
    drawn = [
        f'<rect class="bar" x="{LEFT + number * width:.1f}" y="{_y(value, most):.1f}" '
        f'width="{max(1.0, width - 1):.1f}" height="{_y(0, most) - _y(value, most):.1f}"/>'
        for number, value in enumerate(values)
    ]
    return _page(drawn, most, len(values), title, across)


def _y(value: float, most: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / most


def _page(drawn: Sequence[str], most: float, count: int, title: str, across: str) -> str:
    rules = [
        f'<line class="rule" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(at, most):.1f}" y2="{_y(at, most):.1f}"/>'
        f'<text x="{LEFT - 8}" y="{_y(at, most) + 4:.1f}" text-anchor="end">{at:,.0f}</text>'
        for at in sorted({0, round(most / 2), round(most)})
    ]
    width = (WIDTH - LEFT - RIGHT) / count
    labels = [
        f'<text x="{LEFT + (at + 0.5) * width:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{at}</text>'
        for at in range(0, count, max(1, count // 10))
    ]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
            f"<title>{escape(title)}</title><style>{STYLE}</style>",
            f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<text class="title" x="{LEFT}" y="22">{escape(title)}</text>',
            *rules,
            *labels,
            *drawn,
            f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{escape(across)}</text>',
            "</svg>\n",
        )
    )
