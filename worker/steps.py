"""Write the progress of a job: its counts and the step that runs into its row, phases and numbers into its log."""

from __future__ import annotations

import time

from webapp.jobs import services as jobs
from worker.database import insist
from worker.messages import JobProgress
from worker.pulse import Hold

WRITE_EVERY = 0.2  # s: each round's worth of progress need not be written
EPOCHS_A_LINE = 10


class StepLog:
    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self._phase = ""
        self._since = 0.0  # when the phase began
        self._written = 0.0

    def write(self, step: JobProgress) -> None:
        """Write how far the engine is. Its log gets the first step of a phase, and steps with numbers to draw."""
        hold, now = self._hold, time.monotonic()
        done, total = step.whole or (hold.done, hold.total)
        hold.progress(done, total)
        is_new = step.phase != self._phase
        if is_new:
            self._phase, self._since = step.phase, now
            insist(hold, lambda: jobs.reached(job=hold.job, place=f"the phase “{step.phase}”"))
        if is_new or step.numbers:
            sentence = "" if step.numbers and step.done % EPOCHS_A_LINE else _sentence(step)
            numbers = {"phase": step.phase, "done": step.done, "due": step.due, **step.numbers}
            insist(hold, lambda: jobs.note(job=hold.job, sentence=sentence, numbers=numbers))
        if is_new or now - self._written > WRITE_EVERY or step.done == step.due:
            self._written = now
            reached = {"phase": step.phase, "done": step.done, "due": step.due, "is_counted": step.is_counted}
            reached["spent_s"] = round(now - self._since, 1)
            insist(hold, lambda: jobs.renew(job=hold.job, done=done, total=total, step=reached))


def _sentence(step: JobProgress) -> str:
    words = f"{step.phase.capitalize()}: {step.done} of {step.due}"
    return f"{words}, {step.detail}." if step.detail else f"{words}."
