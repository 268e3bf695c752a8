"""Can requests be served? Ask the database, the broker, the disks, the static files and the store of uploads, all at
once, and answer within two seconds.

Each part is asked in a thread of its own, with a connection of its own: one that hangs holds up neither the others nor
pages, and there is at most one such thread for each part however often `/readyz` is asked.
"""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from webapp.core import broker, databases, edition, start
from webapp.uploads import store
from webapp.uploads.storing import StoreTrouble

LIMIT = 1.0  # s, for each part, all at the same time
T = TypeVar("T")


class Inquiry(Generic[T]):
    """Asks one question, which may get no answer, in one thread at a time."""

    def __init__(self, look: Callable[[], T]) -> None:
        self._look = look
        self._lock = threading.Lock()
        self._asked: Future[T] | None = None

    def ask(self) -> Future[T]:
        """Start to look, unless somebody looks already."""
        with self._lock:
            if self._asked is None or self._asked.done():
                self._asked = Future()
                threading.Thread(target=self._answer, args=(self._asked,), daemon=True).start()
            return self._asked

    def _answer(self, asked: Future[T]) -> None:
        try:
            asked.set_result(self._look())
        except Exception as error:
            asked.set_exception(error)


class NeededPart(Inquiry[str]):
    """One thing that requests need; one that only some need is not vital. `look` returns why it is missing; it raises
    only what nobody foresaw."""

    def __init__(self, name: str, look: Callable[[], str], *, is_vital: bool = True) -> None:
        super().__init__(look)
        self.name = name
        self.is_vital = is_vital


# The parts -----------------------------------------------------------------------------------------------------------


def _database() -> str:
    return asked_apart(lambda own: start.trouble(own) or not_migrated(own))


def asked_apart(ask: Callable[[BaseDatabaseWrapper], str]) -> str:
    """Ask over a connection of its own."""
    try:
        with databases.apart():
            return ask(connections["default"])
    except DatabaseError as error:
        return f"The database does not answer ({type(error).__name__})."


def not_migrated(connection: BaseDatabaseWrapper) -> str:
    missing = edition.missing(connection)
    return f"{missing} migrations are not applied; run `manage.py migrate`." if missing else ""


def refusal() -> str:
    """Say why this program must not serve this database at all. Empty also if the database does not answer: it may
    come back."""
    with suppress(DatabaseError), databases.apart():
        return start.trouble(connections["default"])
    return ""


def disk() -> str:
    """Report a disk before it is full: on a full one nobody could store why something failed."""
    short = [
        f"Only {free // 1024**2} MiB are free on the disk of the {what}; requests need"
        f" {settings.LEAST_FREE_BYTES // 1024**2}."
        for what, folder in _folders()
        if (free := shutil.disk_usage(folder).free) < settings.LEAST_FREE_BYTES
    ]
    return " ".join([*short, "Free some space, or move it to a larger disk."]) if short else ""


def _folders() -> Iterator[tuple[str, Path]]:
    yield "data folder", settings.DATA_DIR
    about = connections["default"].settings_dict
    if about["ENGINE"].endswith("sqlite3"):
        yield "database", Path(about["NAME"]).parent
    if settings.STORE_DIR:
        yield "store", Path(settings.STORE_DIR)


def _store() -> str:
    try:
        store.current().ask()
    except StoreTrouble as trouble:
        return f"{trouble.detail} {trouble.hint}"
    return ""


def static_files() -> str:
    """Ask what this process has loaded: it never sees files that are collected later."""
    if getattr(staticfiles_storage, "hashed_files", True):
        return ""
    return (
        "The static files are not collected in this machine's data folder; run `python -m worker.supervisor.prepare`, "
        "then start web again."
    )


PARTS = (
    NeededPart("database", _database),
    NeededPart("broker", broker.trouble),
    NeededPart("disk", disk),
    NeededPart("static", static_files),
    NeededPart("store", _store, is_vital=False),  # without it only uploads and the first use of a model fail
)

# The answer ----------------------------------------------------------------------------------------------------------


def look() -> dict[str, Any]:
    asked = ask()
    wait(asked.values(), timeout=LIMIT)
    return told(asked)


def ask() -> dict[str, Future[str]]:
    return {part.name: part.ask() for part in PARTS if part.name != "broker" or settings.REDIS_URL}


async def answered(asked: Iterable[Future[Any]], within: float = LIMIT) -> None:
    """Wait for answers without a thread."""
    await asyncio.wait([asyncio.wrap_future(one) for one in asked], timeout=within)


def told(asked: dict[str, Future[str]]) -> dict[str, Any]:
    reasons = {name: _reason(name, answer) for name, answer in asked.items()}
    amiss = {part for part in PARTS if reasons.get(part.name)}
    return {
        "ready": not any(part.is_vital for part in amiss),
        "degraded": not all(part.is_vital for part in amiss),
        "reason": " ".join(filter(None, reasons.values())),
        "parts": {name: {"ok": not reason, "reason": reason} for name, reason in reasons.items()},
    }


def _reason(name: str, answer: Future[str]) -> str:
    if not answer.done():
        return f"The {name} does not answer within {LIMIT:g} s."
    error = answer.exception()  # nobody foresaw it, so its type is named
    return f"The {name} cannot be asked ({type(error).__name__})." if error else answer.result()
