"""Training a DISCO classifier on this worker."""

from __future__ import annotations

import tempfile
from pathlib import Path

from decoding.spec import Sampling
from webapp.studies.classifiers import services as classifying
from webapp.studies.models import Training
from worker.database import insist
from worker.engine_process import EngineProcess
from worker.listening import reports
from worker.materials import place_of, prompt_of
from worker.messages import Step, Train, Trained
from worker.pulse import Hold
from worker.steps import Steps


def train(hold: Hold, engine: EngineProcess) -> None:
    chosen = Training.objects.select_related("pair__target__upload", "pair__draft__upload", "dataset")
    training = insist(hold, lambda: chosen.get(job=hold.job))
    steps = Steps(hold)
    with tempfile.TemporaryDirectory() as folder:
        order = Train(
            pair=insist(hold, lambda: place_of(hold, training.pair)),
            prompts=insist(hold, lambda: [prompt_of(row) for row in training.prompts]),
            sampling=Sampling.from_dict(training.sampling),
            folder=Path(folder),
        )
        for report in reports(hold, engine, order):
            match report:
                case Step():
                    steps.tell(report)
                case Trained():
                    _store(hold, Path(folder))


def _store(hold: Hold, folder: Path) -> None:
    files = [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]
    insist(hold, lambda: classifying.finish_training(job=hold.job, files=files))
