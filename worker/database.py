"""Writing while the database may be away, and not writing once the lease is lost."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError, connection

from webapp.core.problems import Conflict
from worker.disk import Stopped as Stopped
from worker.pulse import Hold, outage

T = TypeVar("T")


def storable(value: Any) -> Any:
    """Reduce to what JSON columns of every database hold: PostgreSQL takes no NUL, and JSON knows no infinity."""
    match value:
        case str():
            return value.replace("\0", "\N{REPLACEMENT CHARACTER}")
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {storable(name): storable(item) for name, item in value.items()}
        case list() | tuple():
            return [storable(item) for item in value]
        case _:
            return value


def insist(hold: Hold, write: Callable[[], T]) -> T:
    """Write, as often as it takes, for as long as the job is ours. Each write is one transaction."""
    while not hold.is_lost:
        try:
            written = write()
            outage.ends()
            return written
        except (OperationalError, InterfaceError) as error:
            wait_s = outage.begins(error)
            connection.close()
            time.sleep(wait_s)
        except Conflict as refusal:
            if refusal.code != "lease-lost":
                raise
            hold.is_lost = True
    raise Stopped
