"""Compare strategies on prompts: order what is missing, write down what the engine reports, go on after it died."""

from __future__ import annotations

from typing import TYPE_CHECKING

from decoding.errors import DrafthouseError
from webapp.comparisons.kinds import COMPARISON
from worker.engine_process import EngineDied
from worker.jobs.comparison.messages import ToCompare
from worker.messages import Cancelled, Emit

if TYPE_CHECKING:
    from worker.attempt import Attempt
    from worker.engine.residents import Residents

KIND = COMPARISON


class Compare(ToCompare):
    def carry_out(self, residents: Residents, emit: Emit, cancelled: Cancelled) -> None:
        from worker.jobs.comparison.comparing import compare

        compare(self, residents, emit, cancelled)


def work(attempt: Attempt) -> None:
    """Decode all samples but those that break. A sample that the engine reports as broken, or that has killed it
    twice, is given up. In the end the job fails and names what is missing; trying again decodes only that."""
    from webapp.comparisons import services as comparisons
    from worker.jobs.comparison.rows import ComparisonRows

    rows = attempt.insist(lambda: ComparisonRows(attempt, Compare))
    try:
        while order := attempt.insist(rows.order):
            try:
                for reply in attempt.replies(order):
                    rows.store(reply)
            except EngineDied as death:
                rows.engine_died(death)
    finally:
        if not attempt.hold.is_lost:
            attempt.insist(lambda: comparisons.drop_unfinished(job=attempt.job))
    if rows.broken:
        raise DrafthouseError(rows.what_broke())
