"""An outage of a service: the log says when it begins and when it ends, and each wait is longer."""

from __future__ import annotations

import logging
import time

FIRST_WAIT, LONGEST_WAIT = 0.25, 2.0  # s; short enough to renew a lease in time when the service is back


class Outage:
    def __init__(self, name: str, logger: logging.Logger, *, meanwhile: str) -> None:
        self._name, self._logger, self._meanwhile = name, logger, meanwhile
        self._since: float | None = None
        self._wait = FIRST_WAIT

    def begins(self, error: Exception) -> float:
        """Note a failure; return the seconds to wait before the next try."""
        if self._since is None:
            self._since, self._wait = time.monotonic(), FIRST_WAIT
            self._logger.warning("%s does not answer (%s); until it does, %s", self._name, error, self._meanwhile)
        wait, self._wait = self._wait, min(2 * self._wait, LONGEST_WAIT)
        return wait

    def ends(self) -> None:
        """Note a success."""
        if self._since is not None:
            self._logger.warning("%s answers again, after %.0f s", self._name, time.monotonic() - self._since)
        self._since = None
