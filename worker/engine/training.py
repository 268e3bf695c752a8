"""A DISCO classifier for a pair, made from prompts."""

from __future__ import annotations

from collections.abc import Callable

from decoding.disco import making
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.messages import Report, Step, Train, Trained


def train(order: Train, residents: Residents, say: Callable[[Report], None], cancelled: Callable[[], bool]) -> None:
    pair, loaded = load_pair(order.pair, residents)
    say(loaded)

    def told(step: making.Step) -> None:
        say(Step(step.phase, step.done, step.due, step.detail))

    material = making.Material.of(order.prompts)
    classifier = making.make_classifier(pair, material, order.sampling, told=told, cancelled=cancelled)
    if not cancelled():
        classifier.save(order.folder)
        say(Trained(classifier.card))
