"""Find which settings suit a pair on a prompt set, and how its classifiers do there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from decoding.choice import choose
from decoding.core.load import Load
from decoding.strategies import BASELINE, STRATEGIES
from webapp.studies.kinds import PLAN
from worker.messages import Cancelled, Emit, PairOrder

if TYPE_CHECKING:
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = PLAN


@dataclass(frozen=True, slots=True)
class MakePlan(PairOrder):
    """Order a plan. DISCO runs with the first of the pair's classifiers; all are judged."""

    loads: tuple[int, ...] = ()  # numbers of users that it is made for too
    for_one: bool = True

    def memory(self) -> int:
        """Bytes that it can need with the setting that prepares most, or with most users."""
        strategies = [strategy for strategy in STRATEGIES.values() if strategy.prepares_ahead and self.pair.draft]
        ahead = [choose(strategy.slug, params) for strategy in strategies for params in strategy.grid()]
        crowded = [choose(BASELINE).at(Load(users)) for users in self.loads]
        return max(self.memory_to_run([choice], is_recorded=True) for choice in [choose(BASELINE), *ahead, *crowded])

    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        from worker.engine.studying import plan, study

        study(
            self,
            residents,
            emit,
            cancelled,
            lambda pair: plan(self, self.loads, pair, emit, cancelled, for_one=self.for_one),
        )


def work(attempt: Attempt) -> None:
    from worker import studies

    study = studies.study_of(attempt)
    fields = studies.shared_fields(attempt, study, studies.classifiers(attempt, study))
    studies.run(attempt, MakePlan(*fields, tuple(study.loads)))
