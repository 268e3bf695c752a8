"""Draw the papers' figures in the engine process, and report each piece as it is finished."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from decoding.papers import FIGURES
from decoding.reproduce import drawing
from decoding.reproduce.evidence import Evidence
from decoding.reproduce.figure import Asked
from decoding.reproduce.recordings import PromptSet
from decoding.reproduce.shelf import InMemory, Stopped
from worker import noise
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.engine.steps import Steps
from worker.messages import Cancelled, Emit, Found, PairOrder

Keep = Callable[[str, Any], None]  # name and data of a finished piece


class ReportingShelf(InMemory):
    """Shelf whose new pieces the worker stores."""

    def __init__(self, kept: Mapping[str, Any], keep: Keep) -> None:
        super().__init__(kept)
        self._keep = keep

    def write(self, name: str, data: Any) -> None:
        super().write(name, data)
        self._keep(name, data)


def draw(
    order: PairOrder,
    sets: tuple[str, PromptSet],
    kept: Mapping[str, Any],
    asked: Asked,
    keep: Keep,
    residents: Residents,
    emit: Emit,
    cancelled: Cancelled,
) -> None:
    pair, loaded = load_pair(order.pair, residents)
    emit(loaded)
    figures, classifier = [*FIGURES.values()], next(iter(order.pair.classifiers), None)
    shelf = ReportingShelf(kept, keep)
    evidence = Evidence(pair, order.prompts, order.sampling, shelf, cancelled=cancelled, classifier_name=classifier)
    evidence.own_set, evidence.also = sets
    every = drawing.phases(evidence, figures)
    evidence.on_progress = Steps(emit, every, every.keys() - drawing.phases_due(evidence, figures).keys())
    before = noise.mark(os.getpid())
    try:
        found = [*drawing.draw(evidence, figures, asked, lambda: noise.between(before, noise.mark(os.getpid())))]
    except Stopped:
        return
    finally:
        pair.close()
    hardware = {**loaded.hardware, "runner": pair.target.facts.runner}
    facts = {"hardware": hardware, "noise": drawing.noises(shelf), "classifier": classifier}
    emit(Found(drawing.document(found, facts)))
