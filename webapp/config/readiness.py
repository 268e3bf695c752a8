"""Can requests be served? Ask the database, the broker, the disks, the static files and the store of uploads, all at
once, and answer within two seconds.

Each part is asked in a thread of its own, with a connection of its own: one that hangs holds up neither the others nor
pages, and there is at most one such thread for each part however often `/readyz` is asked.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.storage import staticfiles_storage
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import load_backend

from webapp.core import broker, edition, start
from webapp.uploads import store
from webapp.uploads.storing import StoreTrouble

LIMIT = 1.0  # s, for each part, all at the same time
BRIEFLY = {  # how a connection to PostgreSQL gives up by itself; 2 s is the shortest that libpq takes
    "connect_timeout": 2,
    "keepalives_idle": 1,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "tcp_user_timeout": 2000,
}


class NeededPart:
    """One thing that requests need; one that only some need is not vital. `look` returns why it is missing; it raises
    only what nobody foresaw."""

    def __init__(self, name: str, look: Callable[[], str], *, is_vital: bool = True) -> None:
        self.name = name
        self.is_vital = is_vital
        self._look = look
        self._lock = threading.Lock()
        self._asked: Future[str] | None = None

    def ask(self) -> Future[str]:
        """Start the check, unless one is running already."""
        with self._lock:
            if self._asked is None or self._asked.done():
                self._asked = Future()
                threading.Thread(target=self._answer, args=(self._asked,), daemon=True).start()
            return self._asked

    def _answer(self, asked: Future[str]) -> None:
        try:
            asked.set_result(self._look())
        except Exception as error:  # nobody foresaw it, so its type is named
            asked.set_result(f"The {self.name} cannot be asked ({type(error).__name__}).")


# The parts -----------------------------------------------------------------------------------------------------------


def _database() -> str:
    return asked_apart(lambda own: start.trouble(own) or not_migrated(own))


def asked_apart(ask: Callable[[BaseDatabaseWrapper], str]) -> str:
    """Ask over a connection of its own."""
    try:
        with closing(_own_connection()) as own:
            return ask(own)
    except DatabaseError as error:
        return f"The database does not answer ({type(error).__name__})."


def not_migrated(connection: BaseDatabaseWrapper) -> str:
    missing = edition.missing(connection)
    return f"{missing} migrations are not applied; run `manage.py migrate`." if missing else ""


def refusal() -> str:
    """Say why this program must not serve this database at all. Empty also if the database does not answer: it may
    come back."""
    with suppress(DatabaseError), closing(_own_connection()) as own:
        return start.trouble(own)
    return ""


def _own_connection() -> BaseDatabaseWrapper:
    about = dict(connections["default"].settings_dict)
    options = {name: value for name, value in about["OPTIONS"].items() if name != "pool"}
    if about["ENGINE"].endswith("sqlite3"):
        about["OPTIONS"] = options | {"timeout": 1}
    else:
        about["OPTIONS"] = options | BRIEFLY | {"options": f"{options.get('options', '')} -c statement_timeout=1000"}
    wrapper: BaseDatabaseWrapper = load_backend(about["ENGINE"]).DatabaseWrapper(about, "default")
    return wrapper


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


SPARED = {part.name for part in PARTS if not part.is_vital}

# The answer ----------------------------------------------------------------------------------------------------------


def look() -> dict[str, Any]:
    asked = _ask()
    wait(asked.values(), timeout=LIMIT)
    return _told(asked)


def reason(name: str) -> str:
    """Ask one part; return why it is missing."""
    asked = {part.name: part.ask() for part in PARTS if part.name == name}
    wait(asked.values(), timeout=LIMIT)
    return str(_told(asked)["reason"])


async def look_without_waiting() -> dict[str, Any]:
    asked = _ask()
    await asyncio.wait([asyncio.wrap_future(part) for part in asked.values()], timeout=LIMIT)
    return _told(asked)


def _ask() -> dict[str, Future[str]]:
    return {part.name: part.ask() for part in PARTS if part.name != "broker" or settings.REDIS_URL}


def _told(asked: dict[str, Future[str]]) -> dict[str, Any]:
    late = f"does not answer within {LIMIT:g} s."
    reasons = {name: answer.result() if answer.done() else f"The {name} {late}" for name, answer in asked.items()}
    amiss = {name for name, reason in reasons.items() if reason}
    return {
        "ready": amiss <= SPARED,
        "degraded": bool(amiss & SPARED),
        "reason": " ".join(filter(None, reasons.values())),
        "parts": {name: {"ok": not reason, "reason": reason} for name, reason in reasons.items()},
    }


class Health:
    """Answer `/healthz` and `/readyz` before requests take turns and before their host is checked: probes ask when
    nothing else gets through, and know only the machine's address. They leave no line in the log."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self.app = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        is_asked = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        match scope["path"] if is_asked else "":
            case "/healthz":
                await _send(send, 200, b"text/plain", b"ok\n")
            case "/readyz":
                told = await look_without_waiting()
                await _send(send, 200 if told["ready"] else 503, b"application/json", json.dumps(told).encode())
            case _:
                await self.app(scope, receive, send)


async def _send(send: Any, status: int, kind: bytes, body: bytes) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"private, no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
