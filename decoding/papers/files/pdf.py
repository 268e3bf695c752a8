"""A plate as PDF 1.4: one page, vector, with Helvetica, which every reader has."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from decoding.papers.files.plate import INK, Dot, Line, Plate, TextMark

ROUND = 0.5523  # control points of a quarter circle, as a share of its radius
# Widths of Helvetica's letters from space to ~, in thousandths of their size.
WIDTHS = (
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
    556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
    722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
    556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
    260, 334, 584,
)  # fmt: skip
OTHER = 556


def pdf(plate: Plate) -> bytes:
    content = "\n".join(line for part in plate.parts for line in _drawn(part, plate.height)).encode("cp1252", "replace")
    fonts = "/F1 4 0 R /F2 5 0 R"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {plate.width:g} {plate.height:g}] "
        f"/Resources << /Font << {fonts} >> >> /Contents 6 0 R >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
        b"<< /Title (%s) /Producer (Drafthouse) >>" % _escaped(plate.title).encode("cp1252", "replace"),
    ]
    return _file(objects)


def _file(objects: Sequence[bytes]) -> bytes:
    """Number the objects, and write the table that says where each begins."""
    body, starts = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        starts.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % start for start in starts)
    count = len(objects) + 1
    head = b"xref\n0 %d\n0000000000 65535 f \n%s" % (count, table)
    return (
        body + head + b"trailer\n<< /Size %d /Root 1 0 R /Info 7 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (count, len(body))
    )


def _drawn(part: Line | Dot | TextMark, height: float) -> Iterator[str]:
    """Operators of one part. A page of PDF counts from its bottom."""
    match part:
        case Line():
            dash = " ".join(f"{length:g}" for length in part.dash)
            yield f"{_rgb(part.colour)} RG {part.width:g} w [{dash}] 0 d"
            first, *others = [f"{x:.2f} {height - y:.2f}" for x, y in part.points]
            yield " ".join([f"{first} m", *(f"{other} l" for other in others), "S"])
        case Dot():
            yield f"{_rgb(part.colour)} RG {_rgb(part.colour if part.is_filled else '#ffffff')} rg 1 w [] 0 d"
            yield _circle(part.x, height - part.y, part.r) if part.shape == "circle" else _polygon(part, height)
        case TextMark():
            turn = math.radians(-part.turn)
            c, s = math.cos(turn), math.sin(turn)
            back = {"start": 0.0, "middle": 0.5, "end": 1.0}[part.anchor] * _width(part.text, part.size)
            x, y = part.x - back * c, height - part.y - back * s
            font = "F2" if part.is_bold else "F1"
            yield f"{_rgb(INK)} rg BT /{font} {part.size:g} Tf {c:.4f} {s:.4f} {-s:.4f} {c:.4f} {x:.2f} {y:.2f} Tm"
            yield f"({_escaped(part.text)}) Tj ET"


def _circle(x: float, y: float, r: float) -> str:
    k = ROUND * r
    quarters = (
        (x + r, y + k, x + k, y + r, x, y + r),
        (x - k, y + r, x - r, y + k, x - r, y),
        (x - r, y - k, x - k, y - r, x, y - r),
        (x + k, y - r, x + r, y - k, x + r, y),
    )
    curves = " ".join(" ".join(f"{value:.2f}" for value in quarter) + " c" for quarter in quarters)
    return f"{x + r:.2f} {y:.2f} m {curves} b"


def _polygon(dot: Dot, height: float) -> str:
    first, *others = [f"{x:.2f} {height - y:.2f}" for x, y in dot.corners]
    return " ".join([f"{first} m", *(f"{other} l" for other in others), "b"])


def _rgb(colour: str) -> str:
    return " ".join(f"{int(colour[i : i + 2], 16) / 255:.3f}" for i in (1, 3, 5))


def _width(text: str, size: float) -> float:
    return size / 1000 * sum(WIDTHS[ord(c) - 32] if 32 <= ord(c) < 127 else OTHER for c in text)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)").replace("\n", " ").replace("\r", " ")
