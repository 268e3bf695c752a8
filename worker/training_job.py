"""Training a DISCO classifier on this worker: what it tells on the way stands in the job's history."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from decoding.spec import Sampling
from webapp.jobs import services as jobs
from webapp.registry import services as registry
from webapp.registry.models import Training
from worker.database import insist
from worker.engine_process import EngineProcess
from worker.listening import reports
from worker.materials import place_of, prompt_of
from worker.messages import Step, Train, Trained
from worker.pulse import Hold

EPOCHS_A_LINE = 10


def train(hold: Hold, engine: EngineProcess) -> None:
    chosen = Training.objects.select_related("pair__target__upload", "pair__draft__upload", "dataset")
    training = insist(hold, lambda: chosen.get(job=hold.job))
    with tempfile.TemporaryDirectory() as folder:
        order = Train(
            pair=insist(hold, lambda: place_of(training.pair, hold.job.queue)),
            prompts=insist(hold, lambda: [prompt_of(row) for row in training.dataset.prompts.all()]),
            sampling=Sampling(**{**training.sampling, "stop": tuple(training.sampling["stop"])}),
            folder=Path(folder),
        )
        phase = ""
        for report in reports(hold, engine, order):
            match report:
                case Step():
                    hold.progress(report.done, report.due)
                    if report.phase != phase or (report.detail and report.done % EPOCHS_A_LINE == 0):
                        phase = report.phase
                        _tell(hold, report)
                case Trained():
                    _store(hold, Path(folder), report.card)


def _store(hold: Hold, folder: Path, card: Mapping[str, Any]) -> None:
    files = [(path.name, path.read_bytes()) for path in sorted(folder.iterdir())]
    insist(hold, lambda: registry.finish_training(job=hold.job, files=files, metrics=card["metrics"]))


def _tell(hold: Hold, step: Step) -> None:
    sentence = f"{step.phase.capitalize()}: {step.done} of {step.due}"
    sentence += f", {step.detail}." if step.detail else "."
    insist(hold, lambda: jobs.note(job=hold.job, sentence=sentence))
