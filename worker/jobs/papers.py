"""Draw the figures of the DISCO and SSD papers for a pair. Every finished piece is stored at once."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decoding import errors
from decoding.models.files import contents
from decoding.papers.shelf import Shelf
from webapp.studies.kinds import PAPERS
from worker import noise
from worker.gpus import describe
from worker.messages import Cancelled, Emit, Found, LocalPair, PairOrder, Reply

if TYPE_CHECKING:
    from webapp.registry.models import LanguageModel
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = PAPERS


@dataclass(frozen=True, slots=True)
class DrawFigures(PairOrder):
    """Order all figures. DISCO decides with the pair's classifier."""

    shelf: Shelf  # with what an earlier attempt has finished
    figures: Sequence[str] = ()  # their slugs; none: all

    def memory(self) -> int:
        return self.memory_to_run(is_recorded=True)

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        from decoding.papers import drawing
        from decoding.papers.evidence import Evidence
        from worker.engine.pairs import load_pair
        from worker.engine.steps import PhaseProgress

        pair, loaded = load_pair(self.pair, residents)
        emit(loaded)
        figures, classifier = drawing.chosen(self.figures), next(iter(self.pair.classifiers), None)
        evidence = Evidence(
            pair,
            self.prompts,
            self.sampling,
            self.shelf,
            on_kept=lambda name, data: emit(PieceFinished(name, data)),
            cancelled=cancelled,
            classifier_name=classifier,
        )
        every, due = (drawing.phases(evidence, figures, shelf) for shelf in (None, self.shelf))
        evidence.on_progress = PhaseProgress(emit, every, every.keys() - due.keys())
        before, found = noise.mark(os.getpid()), list[dict[str, Any]]()
        with closing(pair), suppress(errors.Cancelled):
            for figure in drawing.draw(evidence, figures, lambda: noise.between(before, noise.mark(os.getpid()))):
                found.append(figure)
                emit(FigureDrawn(figure))
            facts = {"hardware": loaded.hardware, "noise": drawing.noises(self.shelf), "classifier": classifier}
            emit(Found(drawing.document(found, facts)))


@dataclass(frozen=True, slots=True)
class PieceFinished(Reply):
    """A piece of evidence or a figure is finished."""

    name: str
    data: Any


@dataclass(frozen=True, slots=True)
class FigureDrawn(Reply):
    """A figure is there: drawn just now or by an earlier attempt, or it lacks something."""

    figure: Mapping[str, Any]


def work(attempt: Attempt) -> None:
    from webapp.studies import services
    from worker import studies
    from worker.database import storable

    study = studies.study_of(attempt)
    newest = studies.classifiers(attempt, study)[:1]
    pair, prompts, sampling = studies.shared_fields(attempt, study, newest)
    here = machine(pair.device, socket.gethostname(), os.cpu_count())
    evidence = made_of(pair, study.pair.by_role.values(), here)
    kept = attempt.insist(lambda: services.kept(job=attempt.job, made_of=evidence))
    order = DrawFigures(pair, prompts, sampling, Shelf(kept))

    def keep(reply: Reply) -> None:
        if isinstance(reply, PieceFinished):
            part = storable(reply.data)
            attempt.insist(lambda: services.keep(job=attempt.job, name=reply.name, data=part))

    studies.run(attempt, order, keep)


def machine(device: str, host: str, cores: int | None) -> str:
    """Name a machine: those of equal processors have prices of their own. `made_of` keeps only a hash of it."""
    return f"{describe(device)}, {cores} cores, {host}"


def made_of(pair: LocalPair, models: Iterable[LanguageModel], machine: str) -> str:
    """Hash the files of models and classifiers, and the machine: figures must not mix the prices of two. A folder that
    a worker has made is named by its content."""
    folders = zip(pair.folders, models, strict=True)
    known = [contents(folder) if model.source == "path" else folder.name for folder, model in folders]
    parts = [machine, *known, *(each.name for each in pair.classifiers.values())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
