"""Project a pair on a prompt set onto another machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from decoding.prices.machine_card import Card
from webapp.studies.kinds import PROJECTION
from worker.messages import Cancelled, Emit, PairOrder

if TYPE_CHECKING:
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = PROJECTION


@dataclass(frozen=True, slots=True)
class Project(PairOrder):
    """Order a projection. DISCO is projected with the first of the pair's classifiers."""

    card: Card

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        from worker.engine.studying import projection, study

        study(self, residents, emit, cancelled, lambda pair: projection(self, self.card, pair, emit, cancelled))


def work(attempt: Attempt) -> None:
    from worker import studies

    study = studies.study_of(attempt)
    fields = studies.shared_fields(attempt, study, studies.classifiers(attempt, study))
    studies.run(attempt, Project(*fields, Card.from_dict(attempt.job.arguments["card"])))
