"""Draw the figures of the DISCO and SSD papers for a pair. Every finished piece is stored at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from decoding.models.contents import contents
from decoding.reproduce.figure import Asked
from webapp.studies.kinds import PAPERS
from worker.messages import Cancelled, Emit, Found, LocalPair, PairOrder, Report, Step

if TYPE_CHECKING:
    from webapp.registry.models import LanguageModel
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = PAPERS


@dataclass(frozen=True, slots=True)
class DrawFigures(PairOrder):
    """Order all figures. DISCO decides with the pair's classifier."""

    kept: Mapping[str, Any]  # evidence and figures of an earlier attempt
    asked: Asked

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        from worker.engine.papers import draw

        def keep(name: str, data: Any) -> None:
            emit(Kept(name, data))

        draw(self, self.kept, self.asked, keep, residents, emit, cancelled)


@dataclass(frozen=True, slots=True)
class Kept(Report):
    """A piece of evidence or a figure is finished."""

    name: str
    data: Any


def work(attempt: Attempt) -> None:
    from webapp.studies import repeating, services
    from worker import studies
    from worker.database import storable

    study = studies.study_of(attempt)
    newest = studies.classifiers(attempt, study)[:1]
    pair, prompts, sampling = studies.shared_fields(attempt, study, newest)
    files = made_of(pair, study.pair.by_role.values())
    kept = attempt.insist(lambda: services.kept(job=attempt.job, made_of=files))
    asked = attempt.insist(lambda: repeating.asked(study, next(iter(newest), None)))
    for report in attempt.reports(DrawFigures(pair, prompts, sampling, kept, asked)):
        match report:
            case Step():
                attempt.record(report)
            case Kept(name=name, data=data):
                part = storable(data)
                attempt.insist(lambda n=name, d=part: services.keep(job=attempt.job, name=n, data=d))  # type: ignore[misc]
            case Found():
                document = storable(dict(report.document))
                attempt.insist(lambda d=document: services.finish(job=attempt.job, document=d))  # type: ignore[misc]


def made_of(pair: LocalPair, models: Iterable[LanguageModel]) -> str:
    """Hash the files of models and classifiers. A folder that a worker has made is named by its content."""
    folders = zip(pair.folders, models, strict=True)
    known = [contents(folder) if model.source == "path" else folder.name for folder, model in folders]
    return hashlib.sha256("\n".join([*known, *(each.name for each in pair.classifiers.values())]).encode()).hexdigest()
