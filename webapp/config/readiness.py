"""Can requests be served? Ask the database, the broker and the disks, all at once, and answer within two seconds.

Each part is asked in a thread of its own, with a connection of its own: one that hangs holds up neither the others nor
pages, and there is at most one such thread for each part however often `/readyz` is asked.
"""

from __future__ import annotations

import asyncio
import functools
import json
import shutil
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.utils import load_backend
from redis.backoff import NoBackoff
from redis.retry import Retry

LIMIT = 1.0  # s, for each part, all at the same time
BRIEFLY = {  # how a connection to PostgreSQL gives up by itself; 2 s is the shortest that libpq takes
    "connect_timeout": 2,
    "keepalives_idle": 1,
    "keepalives_interval": 1,
    "keepalives_count": 2,
    "tcp_user_timeout": 2000,
}


class Part:
    """One thing that requests need. `look` returns why it is missing; it raises only what nobody foresaw."""

    def __init__(self, name: str, look: Callable[[], str]) -> None:
        self.name = name
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
    with_own = _own_connection()
    try:
        missing = missing_migrations(with_own)
    except DatabaseError as error:
        return f"The database does not answer ({type(error).__name__})."
    finally:
        with_own.close()
    return f"{missing} migrations are not applied; run `manage.py migrate`." if missing else ""


def _own_connection() -> BaseDatabaseWrapper:
    about = dict(connections["default"].settings_dict)
    options = {name: value for name, value in about["OPTIONS"].items() if name != "pool"}
    if about["ENGINE"].endswith("sqlite3"):
        about["OPTIONS"] = options | {"timeout": 1}
    else:
        about["OPTIONS"] = options | BRIEFLY | {"options": f"{options.get('options', '')} -c statement_timeout=1000"}
    wrapper: BaseDatabaseWrapper = load_backend(about["ENGINE"]).DatabaseWrapper(about, "default")
    return wrapper


def missing_migrations(connection: BaseDatabaseWrapper) -> int:
    """List unapplied migrations over this very connection. Django's recorder would take the thread's usual one, from
    the pool."""
    table = MigrationRecorder.Migration._meta.db_table
    with connection.cursor() as cursor:
        if table not in connection.introspection.table_names(cursor):
            return len(_known_migrations())
        cursor.execute(f"SELECT app, name FROM {connection.ops.quote_name(table)}")
        return len(_known_migrations() - set(cursor.fetchall()))


@functools.cache
def _known_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).disk_migrations)


def _broker() -> str:
    client = broker_client()
    try:
        client.ping()
    except redis.RedisError as error:
        return f"The broker does not answer ({type(error).__name__})."
    finally:
        client.close()
    return ""


def broker_client() -> redis.Redis:
    """Return a broker client that tries once and gives up after 1 s."""
    never = Retry(NoBackoff(), 0)
    return redis.Redis.from_url(settings.REDIS_URL, socket_connect_timeout=1, socket_timeout=1, retry=never)


def _disk() -> str:
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


PARTS = (Part("database", _database), Part("broker", _broker), Part("disk", _disk))


# The answer ----------------------------------------------------------------------------------------------------------


def look() -> dict[str, Any]:
    asked = _ask()
    wait(asked.values(), timeout=LIMIT)
    return _told(asked)


async def look_without_waiting() -> dict[str, Any]:
    asked = _ask()
    await asyncio.wait([asyncio.wrap_future(part) for part in asked.values()], timeout=LIMIT)
    return _told(asked)


def _ask() -> dict[str, Future[str]]:
    return {part.name: part.ask() for part in PARTS if part.name != "broker" or settings.REDIS_URL}


def _told(asked: dict[str, Future[str]]) -> dict[str, Any]:
    late = f"does not answer within {LIMIT:g} s."
    reasons = {name: answer.result() if answer.done() else f"The {name} {late}" for name, answer in asked.items()}
    return {
        "ready": not any(reasons.values()),
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
