"""Figure of a paper as data: what was published, what it needs, and how ours is computed. Standard library only.

`decoding/papers/figures` holds the figures.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from decoding.papers.bootstrap import Estimate
from decoding.papers.settings import Origin

if TYPE_CHECKING:
    from decoding.papers.evidence import Evidence as Evidence
else:
    Evidence = Any  # evidence loads torch; the figures name its type

Format = Literal["number", "share", "times"]


@dataclass(frozen=True)
class Paper:
    slug: str
    title: str
    arxiv: str


DISCO = Paper("disco", "Dynamic Speculation Lookahead Accelerates Speculative Decoding of Large Language Models",
              "2405.04304")  # fmt: skip
SSD = Paper("saguaro", "Speculative Speculative Decoding", "2603.03251")


@dataclass(frozen=True)
class Axis:
    label: str
    format: Format = "number"
    log: bool = False
    names: Sequence[str] = ()  # of the points 0, 1, 2, … where they are no numbers


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    label: str = ""  # what the point stands for, where x does not say it


@dataclass(frozen=True)
class Series:
    name: str
    origin: Origin
    points: Sequence[Point]
    grade: str = ""  # of a published series: P read in the paper, Pd digitised, A authors, S secondary, I derived
    source: str = ""
    is_line: bool = True


@dataclass(frozen=True)
class FigurePart:
    """Our part of a figure, and the sentence that says why it differs from the published one."""

    series: Sequence[Series]
    why: str
    names: Sequence[str] = ()  # of the points of x, where only the recordings know them


@dataclass(frozen=True)
class Figure:
    slug: str
    paper: Paper
    number: str  # in the paper
    title: str
    x: Axis
    y: Axis
    draw: Callable[[Evidence], FigurePart]
    needs: Sequence[str] = ()  # names of `settings.NEEDS`
    uses: Sequence[str] = ()  # keys of `Evidence.phases`, besides what those need
    published: Sequence[Series] = ()
    unpublished: str = ""  # why there are no published points


def kept_as(slug: str) -> str:
    """Name of a finished figure on a shelf."""
    return f"figure {slug}"


def series(name: str, origin: Origin, points: Sequence[tuple[float, Estimate]], is_line: bool = True) -> Series:
    return Series(name, origin, [Point(x, e.value, e.low, e.high) for x, e in points], is_line=is_line)


def published(
    name: str, points: Sequence[tuple[float, float]], grade: str, source: str, is_line: bool = True
) -> Series:
    return Series(name, "published", [Point(x, y) for x, y in points], grade, source, is_line)


def described(figure: Figure) -> dict[str, Any]:
    """Everything about a figure that is known before it is drawn."""
    return {
        "slug": figure.slug,
        "number": figure.number,
        "title": figure.title,
        "x": dataclasses.asdict(figure.x),
        "y": dataclasses.asdict(figure.y),
        "series": [*map(dataclasses.asdict, figure.published)],
        "paper": dataclasses.asdict(figure.paper),
        "unpublished": figure.unpublished,
        "needs": "",
        "why": "",
    }


def filled(figure: Figure, drawn: FigurePart) -> dict[str, Any]:
    """A finished figure as plain data: published series first, then ours."""
    found = described(figure)
    ours = [dataclasses.asdict(each) for each in drawn.series]
    x = {**found["x"], "names": list(drawn.names or figure.x.names)}
    return {**found, "x": x, "series": [*found["series"], *ours], "why": drawn.why.strip()}
