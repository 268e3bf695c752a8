"""A plate as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from decoding.papers.files.plate import INK, Dot, Line, Plate, TextMark


def svg(plate: Plate) -> str:
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {plate.width:g} {plate.height:g}" '
            f'width="{plate.width:g}pt" height="{plate.height:g}pt" role="img" '
            'font-family="Helvetica, Arial, sans-serif">',
            f"<title>{escape(plate.title)}</title>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            *map(_drawn, plate.parts),
            "</svg>\n",
        )
    )


def _drawn(part: Line | Dot | TextMark) -> str:
    match part:
        case Line():
            dash = f' stroke-dasharray="{_numbers(part.dash)}"' if part.dash else ""
            path = "L".join(f"{x:.2f} {y:.2f}" for x, y in part.points)
            return f'<path d="M{path}" fill="none" stroke="{part.colour}" stroke-width="{part.width:g}"{dash}/>'
        case Dot():
            fill = part.colour if part.is_filled else "#fff"
            if part.shape != "circle":
                corners = " ".join(f"{x:.2f},{y:.2f}" for x, y in part.corners)
                return f'<polygon points="{corners}" fill="{fill}" stroke="{part.colour}"/>'
            return f'<circle cx="{part.x:.2f}" cy="{part.y:.2f}" r="{part.r:g}" fill="{fill}" stroke="{part.colour}"/>'
        case TextMark():
            weight = ' font-weight="bold"' if part.is_bold else ""
            turn = f' transform="rotate({part.turn:g} {part.x:.2f} {part.y:.2f})"' if part.turn else ""
            return (
                f'<text x="{part.x:.2f}" y="{part.y:.2f}" font-size="{part.size:g}" text-anchor="{part.anchor}" '
                f'fill="{INK}"{weight}{turn}>{escape(part.text)}</text>'
            )


def _numbers(values: Sequence[float]) -> str:
    return " ".join(f"{value:g}" for value in values)
