"""A DISCO classifier for a pair, made from prompts."""

from __future__ import annotations

from collections.abc import Callable

from decoding import probing
from decoding.disco import making
from worker.engine.pairs import load_pair
from worker.engine.residents import Residents
from worker.engine.steps import Steps
from worker.messages import Report, Train, Trained


def train(order: Train, residents: Residents, say: Callable[[Report], None], cancelled: Callable[[], bool]) -> None:
    material = making.Material.of(order.prompts)
    pair, loaded = load_pair(order.pair, residents)
    say(loaded)
    steps = Steps(
        say,
        {
            "recording training": len(material.training),
            "recording validation": len(material.validation),
            "recording test": len(material.test),
            "training": 0,
            "measuring costs": probing.samples(len(material.validation), classifiers=len(making.CANDIDATES)),
            "ablations": 0,
        },
    )

    def told(step: making.Step) -> None:
        steps(step.phase, step.done, step.due, step.detail, step.numbers)

    classifier = making.make_classifier(pair, material, order.sampling, told=told, cancelled=cancelled)
    if not cancelled():
        classifier.save(order.folder)
        say(Trained())
