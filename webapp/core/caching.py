"""Cached results. While the cache does not answer, they are computed anew each time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from django.core.cache import cache
from redis.exceptions import RedisError

Result = TypeVar("Result")
_MISSING = object()


def cached(key: str, make: Callable[[], Result], seconds: float) -> Result:
    try:
        found = cache.get(key, _MISSING)
    except (RedisError, OSError):
        return make()
    if found is not _MISSING:
        return found
    value = make()
    with suppress(RedisError, OSError):
        cache.set(key, value, seconds)
    return value
