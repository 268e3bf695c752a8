"""How often something may be tried."""

from __future__ import annotations

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


def test_one_who_tries_too_often_stops_nobody_else():
    limit = Limit("test", count=1, seconds=3600)
    limit.spend(first := str(uuid.uuid4()))
    limit.spend(str(uuid.uuid4()))
    with pytest.raises(TooMany):
        limit.spend(first)


def test_what_is_forgotten_counts_from_nothing():
    who, limit = str(uuid.uuid4()), Limit("test", count=1, seconds=3600)
    limit.spend(who)
    limit.forget(who)
    limit.spend(who)
