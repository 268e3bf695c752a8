"""Figure of a paper as data: what was published, what it needs, and how ours is computed. Standard library only.

`decoding/papers/figures` holds one module for each figure.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from decoding.dice.sampling import Sampling
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
    # Commands besides `papers` itself; {asked} stands for the study's `RepeatOptions`, {also} for its further set.
    recipe: Sequence[str] = ()
    slug: str = ""  # the name of its file


@dataclass(frozen=True)
class RepeatOptions:
    """Options that repeat a study: its pair, prompts, sampling and device."""

    options: str
    split: str = ""  # not an option of a command that takes all splits, such as train-disco
    files: Sequence[str] = ()  # commands that bring here what the options name
    also: str = ""  # file of a further set of prompts

    def __str__(self) -> str:
        return f"{self.options} --split {self.split}" if self.split else self.options


def sampling_options(sampling: Sampling) -> str:
    """Options of a command that chooses tokens like this. Defaults are left out."""
    usual, words = Sampling().to_dict(), list[str]()
    for name, value in sampling.to_dict().items():
        if value != usual[name]:
            option = f"--{name.replace('_', '-')}"
            values = value if isinstance(value, list) else [value]
            words += [word for each in values for word in (option, *([] if each is True else [str(each)]))]
    return shlex.join(words)


def kept_as(slug: str) -> str:
    """Name of a finished figure on a shelf."""
    return f"figure {slug}"


def series(name: str, origin: Origin, points: Sequence[tuple[float, Estimate]], is_line: bool = True) -> Series:
    return Series(name, origin, [Point(x, e.value, e.low, e.high) for x, e in points], is_line=is_line)


def published(
    name: str, points: Sequence[tuple[float, float]], grade: str, source: str, is_line: bool = True
) -> Series:
    return Series(name, "published", [Point(x, y) for x, y in points], grade, source, is_line)


def plain(slug: str, number: str, title: str, x: Axis, y: Axis, shown: Sequence[Series]) -> dict[str, Any]:
    """A figure as plain data."""
    axes = {"x": dataclasses.asdict(x), "y": dataclasses.asdict(y)}
    return {"slug": slug, "number": number, "title": title, **axes, "series": [*map(dataclasses.asdict, shown)]}


def described(figure: Figure, asked: RepeatOptions) -> dict[str, Any]:
    """Everything about a figure that is known before it is drawn."""
    also = f" --also {shlex.quote(asked.also)}" if asked.also and "also_study" in figure.uses else ""
    own = f"./drafthouse papers {asked}{also} --figures {figure.slug}"
    return {
        **plain(figure.slug, figure.number, figure.title, figure.x, figure.y, figure.published),
        "paper": dataclasses.asdict(figure.paper),
        "unpublished": figure.unpublished,
        "recipe": [*asked.files, own, *(line.format(asked=asked, also=also) for line in figure.recipe)],
        "needs": "",
        "why": "",
    }


def filled(figure: Figure, asked: RepeatOptions, drawn: FigurePart) -> dict[str, Any]:
    """A finished figure as plain data: published series first, then ours."""
    found = described(figure, asked)
    ours = [dataclasses.asdict(each) for each in drawn.series]
    x = {**found["x"], "names": list(drawn.names or figure.x.names)}
    return {**found, "x": x, "series": [*found["series"], *ours], "why": _spaced(drawn.why).strip()}


def _spaced(words: str) -> str:
    """Put a space between a number and its percent sign."""
    return re.sub(r"(?<=\d)%", " %", words)
