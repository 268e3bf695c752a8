"""Layout of a figure in print: lines, dots and texts on a page, in points, from its top left. SVG and PDF draw it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

WIDTH, HEIGHT = 420.0, 292.0
LEFT, RIGHT, TOP, BOTTOM = 54.0, 12.0, 40.0, 56.0
ROW = 11.0  # of the legend and the title
TITLE = 58  # letters of a line of the title, in the widest font that may stand in for ours
LABEL = 16  # letters beside a point; longer labels are in the table alone
SMALL, USUAL = 8.0, 9.0  # sizes of letters
GREY, RULE, INK = "#777777", "#dddddd", "#222222"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito's, for ours
# Published series are grey, so dashes tell them apart.
DASHES = ((4.0, 2.0), (1.0, 1.5), (6.0, 2.0, 1.0, 2.0), (2.0, 2.0), (8.0, 3.0), (3.0, 1.0))
Anchor = Literal["start", "middle", "end"]
Shape = Literal["circle", "square", "triangle", "diamond", "down", "left"]
SHAPES: Sequence[Shape] = ("circle", "square", "triangle", "diamond", "down", "left")  # of published dots
CORNERS: Mapping[Shape, Sequence[tuple[float, float]]] = {  # from the middle, in radii, clockwise from the top
    "square": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
    "triangle": ((0.0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
    "diamond": ((0.0, -1.35), (1.35, 0.0), (0.0, 1.35), (-1.35, 0.0)),
    "down": ((1.15, -0.9), (0.0, 1.2), (-1.15, -0.9)),
    "left": ((0.9, -1.15), (0.9, 1.15), (-1.2, 0.0)),
}


@dataclass(frozen=True)
class Line:
    points: Sequence[tuple[float, float]]
    colour: str = INK
    width: float = 0.6
    dash: Sequence[float] = ()


@dataclass(frozen=True)
class Dot:
    x: float
    y: float
    colour: str
    is_filled: bool = True
    r: float = 2.4
    shape: Shape = "circle"

    @property
    def corners(self) -> list[tuple[float, float]]:
        return [(self.x + self.r * x, self.y + self.r * y) for x, y in CORNERS[self.shape]]


@dataclass(frozen=True)
class TextMark:
    x: float
    y: float
    text: str
    anchor: Anchor = "start"
    size: float = SMALL
    is_bold: bool = False
    turn: float = 0.0  # degrees, clockwise


@dataclass(frozen=True)
class Look:
    """How a series is drawn."""

    colour: str
    dash: Sequence[float] = ()
    is_ours: bool = True
    shape: Shape = "circle"

    def dot(self, x: float, y: float) -> Dot:
        return Dot(x, y, self.colour, self.is_ours, shape=self.shape)


@dataclass(frozen=True)
class Plate:
    title: str
    width: float
    height: float
    parts: Sequence[Line | Dot | TextMark]


@dataclass(frozen=True)
class Scale:
    """One axis: where a value lies, and the values that are marked."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool
    marks: Sequence[tuple[float, str]]

    def __call__(self, value: float) -> float:
        of: Callable[[float], float] = (lambda v: math.log(max(v, self.low))) if self.is_log else (lambda v: v)
        share = (of(value) - of(self.low)) / ((of(self.high) - of(self.low)) or 1.0)
        return self.start + share * (self.end - self.start)


def plate(figure: Mapping[str, Any]) -> Plate:
    rows = len(figure["series"])
    height = HEIGHT + ROW * rows
    title = f"{figure['number']}. {figure['title']}"
    x, y = scales(figure)
    parts = [*_axes(figure, x, y), *_series(figure, x, y), *_title(title)]
    return Plate(title, WIDTH, height, [*parts, *_legend(figure["series"])])


def scales(figure: Mapping[str, Any]) -> tuple[Scale, Scale]:
    """The axes, across and up."""
    return _across(figure), _up(figure)


def _title(words: str) -> Iterator[TextMark]:
    """Lines of the title; the last one stands above the label of the axis."""
    lines = textwrap.wrap(words, TITLE)
    for number, line in enumerate(lines):
        yield TextMark(LEFT, TOP - 14 - ROW * (len(lines) - 1 - number), line, size=USUAL, is_bold=True)


def _points(figure: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [point for series in figure["series"] for point in series["points"]]


def _across(figure: Mapping[str, Any]) -> Scale:
    axis, values = figure["x"], sorted({point["x"] for point in _points(figure)}) or [0.0]
    if names := axis["names"]:
        return Scale(-0.5, len(names) - 0.5, LEFT, WIDTH - RIGHT, False, [*enumerate(names)])
    marks = values if len(values) <= 9 else _steps(values[0], values[-1], axis["log"])
    pad = 0.0 if axis["log"] else 0.03 * (values[-1] - values[0])
    written = [(mark, _written(mark, axis["format"])) for mark in marks]
    return Scale(values[0] - pad, values[-1] + pad, LEFT, WIDTH - RIGHT, axis["log"], written)


def _up(figure: Mapping[str, Any]) -> Scale:
    axis, found = figure["y"], _points(figure)
    values = [v for point in found for v in (point["y"], point["low"], point["high"]) if v is not None] or [1.0]
    if axis["log"]:
        above = [point["y"] for point in found if point["y"] > 0] or [0.1, 1.0]
        low, high = min(above) / 1.3, max(values) * 1.2
    else:
        low, high = min(0.0, *values), max(values) * 1.06 or 1.0
    marks = [(mark, _written(mark, axis["format"])) for mark in _steps(low, high, axis["log"])]
    return Scale(low, high, HEIGHT - BOTTOM, TOP, axis["log"], marks)


def _steps(low: float, high: float, is_log: bool) -> list[float]:
    """Round values within an axis."""
    if is_log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        found = [step * 10.0**power for power in powers for step in (1, 2, 5)]
        return [value for value in found if low <= value <= high]
    rough = (high - low) / 5 or 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= rough * 0.999)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _written(value: float, format: str) -> str:
    if format == "share":
        return f"{100 * value:.3g} %"
    return f"{value:.3g}x" if format == "times" else f"{value:.5g}"


def _axes(figure: Mapping[str, Any], x: Scale, y: Scale) -> Iterator[Line | TextMark]:
    for value, name in y.marks:
        yield Line([(LEFT, y(value)), (WIDTH - RIGHT, y(value))], RULE)
        yield TextMark(LEFT - 5, y(value) + 3, name, "end")
    slanted = bool(figure["x"]["names"]) and max(map(len, figure["x"]["names"])) * len(x.marks) > 70
    for value, name in x.marks:
        yield Line([(x(value), HEIGHT - BOTTOM), (x(value), HEIGHT - BOTTOM + 3)])
        if slanted:
            yield TextMark(x(value), HEIGHT - BOTTOM + 11, name, "end", turn=-18.0)
        else:
            yield TextMark(x(value), HEIGHT - BOTTOM + 12, name, "middle")
    yield Line([(LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, HEIGHT - BOTTOM)])
    yield TextMark((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 26, figure["x"]["label"], "middle", USUAL)
    yield TextMark(LEFT, TOP - 4, figure["y"]["label"], "start", USUAL)


def _series(figure: Mapping[str, Any], x: Scale, y: Scale) -> Iterator[Line | Dot | TextMark]:
    named = bool(figure["x"]["names"])
    count = len(figure["series"])
    for number, series in enumerate(figure["series"]):
        style = look(figure["series"], number)
        aside = (number - (count - 1) / 2) * 5.0 if named else 0.0  # points of one name stand side by side
        found = [point for point in series["points"] if point["y"] > 0 or not y.is_log]
        points = [(x(point["x"]) + aside, y(point["y"]), point) for point in found]
        if series["is_line"] and not named and points:
            yield Line([(left, top) for left, top, _ in points], style.colour, 1.2, style.dash)
        for left, top, point in points:
            if point["low"] is not None:
                yield Line([(left, y(point["low"])), (left, y(point["high"]))], style.colour, 0.8)
            yield style.dot(left, top)
    yield from (TextMark(each.x, each.y, each.point["label"], each.anchor, SMALL - 1) for each in labels(figure, x, y))


@dataclass(frozen=True)
class Label:
    """Words beside a point, and the room that they take."""

    point: Mapping[str, Any]
    x: float
    y: float
    anchor: Anchor

    def hides(self, other: Label) -> bool:
        return abs(self.y - other.y) < SMALL and self._from < other._to and other._from < self._to

    @property
    def _from(self) -> float:
        return self.x - self._width * (self.anchor == "end")

    @property
    def _to(self) -> float:
        return self._from + self._width

    @property
    def _width(self) -> float:
        return 0.55 * SMALL * len(self.point["label"])


def labels(figure: Mapping[str, Any], x: Scale, y: Scale) -> list[Label]:
    """Labels of all lines that have room: none leaves the page or hides another."""
    placed: list[Label] = []
    for point in (point for series in figure["series"] for point in labelled(series)):
        is_right = x(point["x"]) > WIDTH - RIGHT - 50
        aside, down = (-5, 9) if is_right else (5, -4)  # where a line that falls leaves room
        label = Label(point, x(point["x"]) + aside, y(point["y"]) + down, "end" if is_right else "start")
        if not any(label.hides(other) for other in placed):
            placed.append(label)
    return placed


def labelled(series: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The ends of a line whose points stand for something that neither axis says, such as a batch size."""
    points = series["points"]
    if not series["is_line"] or not points or any(not 0 < len(point["label"]) <= LABEL for point in points):
        return []
    return [points[0], points[-1]]


def look(series: Sequence[Mapping[str, Any]], number: int) -> Look:
    """Ours are coloured and filled. Published series are grey, dashed and hollow."""
    is_published = series[number]["origin"] == "published"
    place = sum((each["origin"] == "published") == is_published for each in series[:number])
    if is_published:
        return Look(GREY, DASHES[place % len(DASHES)], is_ours=False, shape=SHAPES[place % len(SHAPES)])
    return Look(COLOURS[place % len(COLOURS)])


def _legend(series: Sequence[Mapping[str, Any]]) -> Iterator[Line | Dot | TextMark]:
    for number, each in enumerate(series):
        style, y = look(series, number), HEIGHT - BOTTOM + 42 + ROW * number
        if each["is_line"]:
            yield Line([(LEFT, y), (LEFT + 20, y)], style.colour, 1.2, style.dash)
        yield style.dot(LEFT + 10, y)
        yield TextMark(LEFT + 26, y + 3, f"{each['name']} ({each['origin']})")
