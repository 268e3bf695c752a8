"""Names that can be told apart: people may give one name to many things."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.utils.text import slugify

LONGEST = 200


def moment(at: datetime) -> str:
    """Write when a thing was made, as short as tells two of one name apart."""
    return f"{at:%d %b %H:%M:%S}"


def apart(names: Sequence[str], rows: Sequence[Any]) -> list[str]:
    """Add to each name that several rows share when its row was made, or its id if they were made together."""
    return [f"{name}, {mark}" if mark else name for name, mark in zip(names, marks(names, rows), strict=True)]


def marks(names: Sequence[str], rows: Sequence[Any]) -> list[str]:
    """Return what tells each row from others of its name; empty if it has the name alone."""
    times = [moment(row.created) for row in rows]
    count, both = Counter(names), Counter(zip(names, times, strict=True))
    return [
        "" if count[name] == 1 else time if both[name, time] == 1 else str(row.pk)[:8]
        for name, time, row in zip(names, times, rows, strict=True)
    ]


def file_name(row: Any) -> str:
    """Name a file after a thing, with the start of its id, since others may share its name."""
    return f"{slugify(row.name)[:60] or 'drafthouse'}-{str(row.pk)[:8]}"


def free(name: str, taken: Iterable[str]) -> str:
    """Number a name that nobody chose if it is taken."""
    known = set(taken)
    marks = itertools.chain([""], (f" ({number})" for number in itertools.count(2)))
    return next(each for mark in marks if (each := name[: LONGEST - len(mark)] + mark) not in known)
