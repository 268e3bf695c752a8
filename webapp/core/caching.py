"""Cached results. While the cache does not answer, they are computed anew each time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar, cast

from django.core.cache import cache
from redis.exceptions import RedisError

Result = TypeVar("Result")


def cached(key: str, make: Callable[[], Result], seconds: float) -> Result:
    with suppress(RedisError, OSError):
        return cast(Result, cache.get_or_set(key, make, seconds))
    return make()
