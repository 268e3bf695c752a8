"""Rate limits. Counters live in the cache: all web processes share them if there is a broker.

While the broker does not answer, each process counts for itself, so that requests go on and limits hold.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar, cast

from django.core.cache import cache
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.utils import timezone
from redis.exceptions import RedisError

from webapp.core.problems import TooMany

logger = logging.getLogger("drafthouse.limits")
TRY_AGAIN = 5.0  # s before the broker is asked again
Result = TypeVar("Result")


class _Counters:
    """The shared cache, or one of this process while the shared one is away."""

    def __init__(self) -> None:
        self.own = LocMemCache("limits", {"OPTIONS": {"MAX_ENTRIES": 50_000}})
        self.away_until = 0.0

    def use(self, work: Callable[[BaseCache], Result]) -> Result:
        if time.monotonic() >= self.away_until:
            try:
                return work(cache)
            except (RedisError, OSError) as error:
                self.away_until = time.monotonic() + TRY_AGAIN
                logger.warning("the broker does not answer (%s); each process counts tries for itself", error)
        return work(self.own)


_counters = _Counters()


@dataclass(frozen=True, slots=True)
class Limit:
    name: str
    count: int
    seconds: int

    def spend(self, who: str) -> None:
        """Count one try; raise TooMany above `count` tries in a window. A window begins with its first try."""
        now = int(timezone.now().timestamp())
        since, tries = _counters.use(lambda counters: self._add(counters, who, now))
        if tries > self.count:
            wait = max(1, since + self.seconds - now)
            raise TooMany(
                f"More than {self.count} tries in {self.seconds // 60 or 1} min.",
                hint=f"Try again in {wait} s.",
                retry_after=wait,
            )

    @contextmanager
    def on_failure(self, who: str) -> Iterator[None]:
        """Count the code in this context as a try unless it succeeds. It counts before it runs, so that many attempts
        at once gain nothing."""
        self.spend(who)
        yield
        _counters.use(lambda counters: self._take_back(counters, who))

    def forget(self, who: str) -> None:
        """Forget earlier failures after a success."""
        _counters.use(lambda counters: self._forget(counters, who))

    def _add(self, counters: BaseCache, who: str, now: int) -> tuple[int, int]:
        since = cast(int, counters.get_or_set(self._key(who), now, timeout=self.seconds))
        tries = self._tries(who, since)
        counters.add(tries, 0, timeout=2 * self.seconds)  # outlives its window: it cannot end before `incr`
        try:
            return since, counters.incr(tries)
        except ValueError:  # a full cache has dropped it
            return since, 1

    def _take_back(self, counters: BaseCache, who: str) -> None:
        tries = self._tries(who, counters.get(self._key(who)))
        if counters.get(tries, 0) > 0:
            counters.decr(tries)

    def _forget(self, counters: BaseCache, who: str) -> None:
        counters.delete_many([self._key(who), self._tries(who, counters.get(self._key(who)))])

    def _tries(self, who: str, since: int | None) -> str:
        return f"{self._key(who)}:{since}"

    def _key(self, who: str) -> str:
        return f"limit:{self.name}:{hashlib.sha256(who.encode()).hexdigest()}"
