"""How often something may be tried. Counters live in the cache: shared by all web processes when there is a broker."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from django.core.cache import cache
from django.utils import timezone

from webapp.core.problems import TooMany


@dataclass(frozen=True, slots=True)
class Limit:
    name: str
    count: int
    seconds: int

    def spend(self, who: str) -> None:
        """Count one try. More than `count` in a window raise TooMany."""
        now = int(timezone.now().timestamp())
        key = self._key(who, now)
        cache.add(key, 0, timeout=self.seconds)
        if cache.incr(key) > self.count:
            wait = self.seconds - now % self.seconds
            raise TooMany(
                f"More than {self.count} tries in {self.seconds // 60 or 1} min.",
                hint=f"Try again in {wait} s.",
                retry_after=wait,
            )

    def forget(self, who: str) -> None:
        """After a success, earlier failures no longer count."""
        cache.delete(self._key(who, int(timezone.now().timestamp())))

    def _key(self, who: str, now: int) -> str:
        return f"limit:{self.name}:{hashlib.sha256(who.encode()).hexdigest()}:{now // self.seconds}"
