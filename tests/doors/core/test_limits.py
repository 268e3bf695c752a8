"""Rate limits."""

from __future__ import annotations

import threading
import uuid

import pytest

from webapp.core.limits import Limit
from webapp.core.problems import TooMany


def test_a_window_begins_with_its_first_try_and_not_with_the_clocks_hour():
    who, limit = str(uuid.uuid4()), Limit("test", count=2, seconds=3600)
    limit.spend(who)
    limit.spend(who)
    with pytest.raises(TooMany, match="More than 2 tries in 60 min") as told:
        limit.spend(who)
    assert 3590 <= int(told.value.headers["Retry-After"]) <= 3600


def test_one_who_tries_too_often_stops_nobody_else_and_once_forgotten_counts_from_nothing():
    limit = Limit("test", count=1, seconds=3600)
    limit.spend(first := str(uuid.uuid4()))
    limit.spend(str(uuid.uuid4()))
    with pytest.raises(TooMany):
        limit.spend(first)
    limit.forget(first)
    limit.spend(first)


def test_what_ends_well_does_not_count_and_what_fails_does():
    who, limit = str(uuid.uuid4()), Limit("test", count=2, seconds=3600)
    for _ in range(5):
        with limit.on_failure(who):
            pass
    for _ in range(2):
        with pytest.raises(KeyError), limit.on_failure(who):
            raise KeyError
    with pytest.raises(TooMany), limit.on_failure(who):
        raise AssertionError("nothing is tried any more")


def test_those_who_try_at_the_same_time_are_counted_before_they_fail():
    who, limit = str(uuid.uuid4()), Limit("test", count=3, seconds=3600)
    inside = threading.Barrier(4)
    refused = []

    def attempt() -> None:
        try:
            with limit.on_failure(who):
                inside.wait(300)
        except TooMany:
            refused.append(1)
            inside.wait(300)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == [1]
