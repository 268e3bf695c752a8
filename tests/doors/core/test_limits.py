"""Rate limits."""

from __future__ import annotations

import threading
import uuid

import pytest

from webapp.core.limits import Limit
from webapp.core.problems import TooMany


def test_a_window_begins_with_its_first_try_and_ends_when_it_is_forgotten():
    who, limit = str(uuid.uuid4()), Limit("test", count=2, seconds=3600)
    limit.spend(who)
    limit.spend(who)
    with pytest.raises(TooMany, match="More than 2 tries in 60 min") as told:
        limit.spend(who)
    assert 3590 <= int(told.value.headers["Retry-After"]) <= 3600
    limit.spend(str(uuid.uuid4()))
    limit.forget(who)
    limit.spend(who)


def test_what_ends_well_does_not_count_and_those_who_try_at_the_same_time_are_counted_before_they_fail():
    who, limit = str(uuid.uuid4()), Limit("test", count=3, seconds=3600)
    for _ in range(5):
        with limit.on_failure(who):
            pass
    inside = threading.Barrier(4)
    refused = []

    def attempt() -> None:
        try:
            with pytest.raises(KeyError), limit.on_failure(who):
                inside.wait(300)
                raise KeyError
        except TooMany:
            refused.append(1)
            inside.wait(300)

    threads = [threading.Thread(target=attempt) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert refused == [1]
    with pytest.raises(TooMany):
        limit.spend(who)
