"""Draw figures from evidence, each as soon as its evidence is there, and keep each on the shelf."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from decoding.errors import BadStrategy
from decoding.papers import by_temperature, together
from decoding.papers.evidence import Evidence
from decoding.papers.figure import Figure, RepeatOptions, described, filled, kept_as
from decoding.papers.figures import FIGURES
from decoding.papers.recordings import RECORDING_ALSO, outcomes_name, recording
from decoding.papers.settings import BATCHES, CONSTANTS, LOOKAHEADS, TEMPERATURES
from decoding.papers.shelf import Shelf
from decoding.replay.workload import samples_of_probe
from decoding.strategies.disco import RULES

FORMAT = "drafthouse.papers/1"
NOISE = "noise"  # on the shelf: one sentence for each attempt
TABLE = 5  # choices of DISCO's speed-up table, autoregressive among them; more by each rule of DISCO

# Pieces of evidence in the order in which they are made. Figures name those that they use.
PIECES: Mapping[str, Callable[[Evidence], object]] = {
    "study": lambda e: e.study,
    "costs": lambda e: e.costs,
    "also": lambda e: e.also.prompts and e.also_study,
    "ran": lambda e: e.ran,
    "greedy": lambda e: e.outcomes(0.0),
    "ran ssd": lambda e: e.ran_ssd,
    "joint": lambda e: e.joint,
    "together": lambda e: e.ran_together,
    "ran by temperature": lambda e: e.ran_by_temperature,
    "temperatures": lambda e: [e.outcomes(temperature) for temperature in TEMPERATURES],
    "constants": lambda e: e.outcomes_held_back(1.0, CONSTANTS),
}


class Phase(NamedTuple):
    """Part of the evidence. Progress is counted in its samples."""

    name: str
    samples: int
    kept_as: str  # on the shelf; empty: an attempt always makes it


def phases(evidence: Evidence, figures: Sequence[Figure]) -> dict[str, int]:
    """Samples of each phase of the figures that can be drawn, finished or not."""
    return {phase.name: phase.samples for phase in _phases(evidence, [f for f in figures if _can_be(f, evidence)])}


def phases_due(evidence: Evidence, figures: Sequence[Figure]) -> dict[str, int]:
    """The same without those that are on the shelf, or whose figures are."""
    due = [f for f in figures if _can_be(f, evidence) and evidence.shelf.read(kept_as(f.slug)) is None]
    every = _phases(evidence, due)
    return {one.name: one.samples for one in every if not one.kept_as or evidence.shelf.read(one.kept_as) is None}


def _phases(evidence: Evidence, figures: Sequence[Figure]) -> list[Phase]:
    """In the order in which they are made."""
    prompts, has_classifier = len(evidence.prompts), evidence.classifier is not None

    def run(phase: str, choices: int) -> Phase:
        return Phase(phase, choices * prompts, phase)

    def texts(temperature: float, *constants: float) -> Phase:
        return Phase(recording(temperature), prompts, outcomes_name(temperature, constants))

    found = {
        "study": [Phase("recording", prompts, "")],
        "costs": [Phase("measuring prices", samples_of_probe(prompts, classifiers=int(has_classifier)), "costs")],
        "also": [Phase(RECORDING_ALSO, len(evidence.also.prompts), "")] * bool(evidence.also.prompts),
        "ran": [run("running DISCO's table", TABLE + len(RULES) * has_classifier)],
        "greedy": [texts(0.0, 1.0)],
        "ran ssd": [run("running SSD", 1 + 2 * len(LOOKAHEADS))],
        "joint": [Phase("measuring joint passes", len(BATCHES), "joint prices")],
        "together": [run(together.phase(n), len(together.choices(n))) for n in BATCHES * evidence.has_second_core],
        "ran by temperature": [
            run(by_temperature.phase(temperature), 1 + len(by_temperature.FAN_OUTS))
            for temperature in TEMPERATURES * evidence.has_second_core
        ],
        "temperatures": [texts(temperature, 1.0) for temperature in TEMPERATURES[1:]],
        "constants": [texts(1.0, *CONSTANTS)],
    }
    return [phase for piece in pieces_of(figures) for phase in found[piece]]


def _can_be(figure: Figure, evidence: Evidence) -> bool:
    return not evidence.lacks(figure.needs)


def pieces_of(figures: Sequence[Figure]) -> list[str]:
    """Pieces that these figures use, in the order in which they are made."""
    used = {piece for figure in figures for piece in figure.uses}
    return [piece for piece in PIECES if piece in used]


def draw(
    evidence: Evidence, figures: Sequence[Figure], asked: RepeatOptions, noise: Callable[[], str] = lambda: ""
) -> Iterator[dict[str, Any]]:
    """Yield each figure once it is finished: those that are kept, those that lack something, then the others as their
    evidence comes in. `noise` says what else used the machine so far; `noises` tells of it, also of an earlier attempt
    that was killed."""
    earlier = _noises(evidence.shelf)
    waiting = []
    for figure in figures:
        kept = evidence.shelf.read(kept_as(figure.slug))
        if kept is not None:
            yield kept
        elif lacking := evidence.lacks(figure.needs):
            yield described(figure, asked) | {"needs": lacking}
        else:
            waiting.append(figure)
    made: set[str] = set()
    for piece in ["", *pieces_of(waiting)]:  # first those that use nothing
        if piece:
            PIECES[piece](evidence)
            evidence.shelf.write(NOISE, [*earlier, noise()])
        made.add(piece)
        for figure in [one for one in waiting if made.issuperset(one.uses)]:
            waiting.remove(figure)
            yield _drawn(figure, evidence, asked)


def noises(shelf: Shelf) -> str:
    """Sentences on what else used the machine while the evidence was made, one for each attempt."""
    return " ".join(dict.fromkeys(filter(None, _noises(shelf))))


def _noises(shelf: Shelf) -> list[str]:
    return shelf.read(NOISE) or []


def _drawn(figure: Figure, evidence: Evidence, asked: RepeatOptions) -> dict[str, Any]:
    """Draw and keep a figure. A formula may have no value for a pair, as where nothing is ever hit: that costs this
    figure, not the study."""
    try:
        found = filled(figure, asked, figure.draw(evidence))
    except BadStrategy as error:  # a classifier that the figure trains has too little to learn from
        return described(figure, asked) | {"needs": f"more recorded tokens ({str(error).rstrip('.')})"}
    except (ArithmeticError, ValueError) as error:
        return described(figure, asked) | {"needs": f"other numbers: its formula has no value for these ({error})"}
    evidence.shelf.write(kept_as(figure.slug), found)
    return found


def chosen(slugs: Sequence[str]) -> list[Figure]:
    """These figures, or all, in the order of the papers."""
    return [figure for slug, figure in FIGURES.items() if not slugs or slug in slugs]


def document(figures: Sequence[Mapping[str, Any]], facts: Mapping[str, Any]) -> dict[str, Any]:
    """Everything that was found, in the order of the papers."""
    by_slug = {figure["slug"]: figure for figure in figures}
    return {"format": FORMAT, **facts, "figures": [by_slug[slug] for slug in FIGURES if slug in by_slug]}
