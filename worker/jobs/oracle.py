"""Find how long drafts ought to be on a prompt set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from webapp.studies.kinds import ORACLE
from worker.messages import Cancelled, Emit, PairOrder

if TYPE_CHECKING:
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = ORACLE


@dataclass(frozen=True, slots=True)
class AskOracle(PairOrder):
    lookahead: int  # the static one to draw beside

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        from worker.engine.studying import oracle, study

        study(self, residents, emit, cancelled, lambda pair: oracle(self, self.lookahead, pair, emit, cancelled))


def work(attempt: Attempt) -> None:
    from worker import studies

    study = studies.study_of(attempt)
    studies.run(attempt, AskOracle(*studies.shared_fields(attempt, study), study.lookahead))
