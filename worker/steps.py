"""Write the progress of a study or a training: its counts into the job, its phases and numbers into the job's log."""

from __future__ import annotations

import time

from webapp.jobs import services as jobs
from worker.database import insist
from worker.messages import Step
from worker.pulse import Hold

WRITE_EVERY = 0.2  # s: each round's worth of progress need not be written
EPOCHS_A_LINE = 10


class Steps:
    def __init__(self, hold: Hold) -> None:
        self._hold = hold
        self._phase = ""
        self._written = 0.0

    def write(self, step: Step) -> None:
        hold, (done, total) = self._hold, step.whole
        hold.progress(done, total)
        if step.phase != self._phase:
            insist(hold, lambda: jobs.reached(job=hold.job, place=f"the phase “{step.phase}”"))
        if step.phase != self._phase or step.numbers:
            self._phase = step.phase
            sentence = "" if step.numbers and step.done % EPOCHS_A_LINE else _sentence(step)
            numbers = {"phase": step.phase, "done": step.done, "due": step.due, **step.numbers}
            insist(hold, lambda: jobs.note(job=hold.job, sentence=sentence, numbers=numbers))
        now = time.monotonic()
        if now - self._written > WRITE_EVERY or done == total:
            self._written = now
            insist(hold, lambda: jobs.renew(job=hold.job, done=done, total=total))


def _sentence(step: Step) -> str:
    words = f"{step.phase.capitalize()}: {step.done} of {step.due}"
    return f"{words}, {step.detail}." if step.detail else f"{words}."
