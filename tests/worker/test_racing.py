"""Worker processes race for the same jobs. `./drafthouse bench queue` has the long race."""

from __future__ import annotations

from tests.worker.racing import race, verdict

JOB_COUNT, RACERS = 300, 3


def test_every_job_is_claimed_once_and_every_racer_claims_some(team):
    assert verdict(race(team, JOB_COUNT, RACERS)) == {
        "claimed": JOB_COUNT,
        "claimed_twice": 0,
        "fewest": JOB_COUNT // RACERS,
        "succeeded_at_once": JOB_COUNT,
        "starts_told": JOB_COUNT,
    }
