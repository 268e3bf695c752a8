"""Train a DISCO classifier for a pair."""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from decoding.dice.sampling import Sampling
from decoding.disco.cards import OURS, SOURCES
from decoding.prompts.prompt import first_turns
from webapp.studies.kinds import TRAINING
from worker.messages import Cancelled, Emit, PairOrder, Reply

if TYPE_CHECKING:
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = TRAINING


@dataclass(frozen=True, slots=True)
class Train(PairOrder):
    """Make a classifier for a pair and leave it in a folder."""

    folder: Path
    design: str = OURS

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        from decoding.replay.workload import samples_of_probe
        from decoding.training import making
        from decoding.training.splits import Splits
        from worker.engine.pairs import load_pair
        from worker.engine.steps import PhaseProgress

        material = Splits.of(self.prompts)
        pair, loaded = load_pair(self.pair, residents, is_recorded=self.design == SOURCES)  # others need drafts
        is_undrafted = pair.draft is None
        emit(loaded)
        steps = PhaseProgress(
            emit,
            {
                "recording training": len(material.training),
                "recording validation": len(material.validation),
                "recording test": len(material.test),
                "recording greedy texts": 0 if is_undrafted or self.sampling.is_greedy else len(material.validation),
                "training": 0,
                "measuring costs": samples_of_probe(
                    len(material.validation),
                    classifiers=1,
                    is_undrafted=is_undrafted,
                ),
            },
        )

        def on_progress(step: making.TrainingStep) -> None:
            steps(step.phase, step.done, step.due, step.detail, step.numbers)

        with closing(pair):  # chats are rendered in a process of its own
            classifier = making.make_classifier(
                pair,
                material,
                self.sampling,
                design=self.design,
                on_progress=on_progress,
                cancelled=cancelled,
            )
        if not cancelled():
            classifier.save(self.folder)
            emit(Trained())


@dataclass(frozen=True, slots=True)
class Trained(Reply):
    """The classifier lies where it was ordered to, its card beside it."""


def work(attempt: Attempt) -> None:
    from webapp.registry.prompt_sets import prompt_of
    from webapp.studies.classifiers import services as classifying
    from webapp.studies.models import Training

    chosen = Training.objects.select_related("pair__target__upload", "pair__draft__upload", "dataset")
    training = attempt.insist(lambda: chosen.get(job=attempt.job))
    with tempfile.TemporaryDirectory() as folder:
        order = Train(
            pair=attempt.local_pair(training.pair),
            prompts=attempt.insist(lambda: first_turns(prompt_of(row) for row in training.prompts)),
            sampling=Sampling.from_dict(training.sampling),
            folder=Path(folder),
            design=training.design,
        )
        attempt.answer(order, Trained)
        files = [(path.name, path.read_bytes()) for path in sorted(Path(folder).iterdir())]
    attempt.insist(lambda: classifying.finish_training(job=attempt.job, files=files))
