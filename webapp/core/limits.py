"""How often something may be tried. Counters live in the cache: shared by all web processes when there is a broker."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import cast

from django.core.cache import cache
from django.utils import timezone

from webapp.core.problems import TooMany


@dataclass(frozen=True, slots=True)
class Limit:
    name: str
    count: int
    seconds: int

    def spend(self, who: str) -> None:
        """Count one try. More than `count` in a window raise TooMany. A window begins with its first try."""
        now = int(timezone.now().timestamp())
        since = cast(int, cache.get_or_set(self._key(who), now, timeout=self.seconds))
        tries = f"{self._key(who)}:{since}"
        cache.add(tries, 0, timeout=2 * self.seconds)  # outlives its window: it never ends between two lines here
        if cache.incr(tries) > self.count:
            wait = max(1, since + self.seconds - now)
            raise TooMany(
                f"More than {self.count} tries in {self.seconds // 60 or 1} min.",
                hint=f"Try again in {wait} s.",
                retry_after=wait,
            )

    def forget(self, who: str) -> None:
        """After a success, earlier failures no longer count."""
        since = cache.get(self._key(who))
        cache.delete_many([self._key(who), f"{self._key(who)}:{since}"])

    def _key(self, who: str) -> str:
        return f"limit:{self.name}:{hashlib.sha256(who.encode()).hexdigest()}"
