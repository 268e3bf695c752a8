"""The rule that decides which ends of attempts count against a job (docs/decisions/0028-which-attempts-count.md).

Whoever saw the end says whether the job can have caused it. Only such ends count, only until the job gets on, and only
with others at the same place. `Job.blamed` holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from webapp.jobs.models import Job

Blame = Mapping[str, Any]  # an end that counts: attempt, place, worker, and whether the worker only went silent

AT_ONE_PLACE = 3
ANYWHERE = 10  # for a job that fails at another place each time
LONGEST_WAIT_S = 120
AT_ITS_START = "its start"
OUTSIDE = "The job did not cause this, so it does not count against it."


def blame(job: Job, *, is_silence: bool) -> Blame:
    return {"attempt": job.attempt, "place": place(job), "worker": job.worker, "is_silence": is_silence}


def place(job: Job) -> str:
    return job.at or AT_ITS_START


def are_enough(blamed: Sequence[Blame]) -> bool:
    """Whether the latest end is one too many."""
    return len(blamed) >= ANYWHERE or _at_the_last_place(blamed) >= AT_ONE_PLACE


def counted(blamed: Sequence[Blame]) -> str:
    return f"This counts against the job: {_at_the_last_place(blamed)} of {AT_ONE_PLACE} at {blamed[-1]['place']}."


def for_good(blamed: Sequence[Blame]) -> str:
    where = f"at {blamed[-1]['place']}" if _at_the_last_place(blamed) >= AT_ONE_PLACE else "at several places"
    return (
        f"The job ended {len(blamed)} times like this {where} without progress in between, so Drafthouse stopped "
        "trying. Finished work is kept. Remove the cause, then try again."
    )


def wait_s(setbacks: int) -> float:
    """Seconds until the next attempt: none after a single end, then twice as long each time, so that a storm that ends
    every attempt is waited out."""
    return min(LONGEST_WAIT_S, 2.0 ** min(setbacks - 2, 30)) if setbacks > 1 else 0.0


def without_silence_of(worker: str, blamed: Sequence[Blame]) -> list[Blame]:
    return [end for end in blamed if not (end["is_silence"] and end["worker"] == worker)]


def _at_the_last_place(blamed: Sequence[Blame]) -> int:
    return sum(end["place"] == blamed[-1]["place"] for end in blamed)
