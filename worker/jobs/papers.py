"""Draw the figures of the DISCO and SSD papers for a pair. Every finished piece is stored at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from webapp.studies.kinds import PAPERS
from worker.messages import Cancelled, Emit, Found, PairOrder, Report, Step

if TYPE_CHECKING:
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = PAPERS


@dataclass(frozen=True, slots=True)
class DrawFigures(PairOrder):
    """Order all figures. DISCO decides with the first of the pair's classifiers."""

    kept: Mapping[str, Any]  # evidence and figures of an earlier attempt

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        from worker.engine.papers import draw

        def keep(name: str, data: Any) -> None:
            emit(Kept(name, data))

        draw(self, self.kept, keep, residents, emit, cancelled)


@dataclass(frozen=True, slots=True)
class Kept(Report):
    """A piece of evidence or a figure is finished."""

    name: str
    data: Any


def work(attempt: Attempt) -> None:
    from webapp.studies import services
    from worker import studies
    from worker.database import storable

    study = studies.study_of(attempt)
    fields = studies.shared_fields(attempt, study, studies.classifiers(attempt, study))
    for report in attempt.reports(DrawFigures(*fields, kept=study.parts)):
        match report:
            case Step():
                attempt.record(report)
            case Kept(name=name, data=data):
                kept = storable(data)
                attempt.insist(lambda n=name, d=kept: services.keep(job=attempt.job, name=n, data=d))  # type: ignore[misc]
            case Found():
                document = storable(dict(report.document))
                attempt.insist(lambda d=document: services.finish(job=attempt.job, document=d))  # type: ignore[misc]
