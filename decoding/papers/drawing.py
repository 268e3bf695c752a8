"""Draw figures from evidence, each as soon as its evidence is there, and keep each on the shelf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from decoding.papers.evidence import Evidence
from decoding.papers.figure import Figure, described, filled, kept_as
from decoding.papers.figures import FIGURES
from decoding.papers.shelf import Shelf

FORMAT = "drafthouse.papers/1"
NOISE = "noise"  # on the shelf: one sentence for each attempt


def phases(evidence: Evidence, figures: Sequence[Figure], shelf: Shelf | None = None) -> dict[str, int]:
    """Samples of each phase of the figures that can be drawn, without what the shelf holds already."""
    shelf = shelf or Shelf()
    drawn = [one for one in figures if not evidence.lacks(one.needs) and not shelf.holds(kept_as(one.slug))]
    every = (phase for piece in _pieces(evidence, drawn) for phase in evidence.phases[piece])
    return {phase.name: phase.samples for phase in every if not shelf.holds(phase.kept_as)}


def _pieces(evidence: Evidence, figures: Sequence[Figure]) -> list[str]:
    """Pieces that these figures use, in the order in which they are made."""
    used = {piece for figure in figures for piece in figure.uses}
    return [piece for piece in evidence.phases if piece in used]


def draw(
    evidence: Evidence, figures: Sequence[Figure], noise: Callable[[], str] = lambda: ""
) -> Iterator[dict[str, Any]]:
    """Yield each figure once it is finished: those that are kept, those that lack something, then the others as their
    evidence comes in. `noise` says what else used the machine so far; `noises` tells of it, also of an earlier attempt
    that was killed."""
    earlier = evidence.shelf.read(NOISE) or []
    waiting = []
    for figure in figures:
        kept = evidence.shelf.read(kept_as(figure.slug))
        if kept is not None:
            yield kept
        elif lacking := evidence.lacks(figure.needs):
            yield described(figure) | {"needs": lacking}
        else:
            waiting.append(figure)
    made: set[str] = set()
    for piece in ["", *_pieces(evidence, waiting)]:  # first those that use nothing
        if piece:
            getattr(evidence, piece)
            evidence.keep(NOISE, [*earlier, noise()])
        made.add(piece)
        for figure in [one for one in waiting if made.issuperset(one.uses)]:
            waiting.remove(figure)
            yield _drawn(figure, evidence)


def noises(shelf: Shelf) -> str:
    """Sentences on what else used the machine while the evidence was made, one for each attempt."""
    return " ".join(dict.fromkeys(filter(None, shelf.read(NOISE) or [])))


def _drawn(figure: Figure, evidence: Evidence) -> dict[str, Any]:
    """Draw and keep a figure. A formula may have no value for a pair, as where nothing is ever hit: that costs this
    figure, not the study."""
    try:
        found = filled(figure, figure.draw(evidence))
    except (ArithmeticError, ValueError) as error:
        return described(figure) | {"needs": f"other numbers: its formula has no value for these ({error})"}
    evidence.keep(kept_as(figure.slug), found)
    return found


def chosen(slugs: Sequence[str]) -> list[Figure]:
    """These figures, or all, in the order of the papers."""
    return [figure for slug, figure in FIGURES.items() if not slugs or slug in slugs]


def document(figures: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that was found, in the order of the papers."""
    by_slug = {figure["slug"]: figure for figure in figures}
    return {"format": FORMAT, **facts, "figures": [by_slug[slug] for slug in FIGURES if slug in by_slug]}
