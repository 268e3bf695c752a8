"""Write rows as lines of JSON, the same for every database, so that a backup of SQLite can be restored into PostgreSQL
and back. Models come from the migrations that the database has, not from the program: a backup can be made before an
upgrade and restored after it."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from collections.abc import Collection, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

from webapp.backup.archive import BackupProblem
from webapp.core import edition

LEFT_OUT = {"sessions.session", "jobs.worker"}  # sessions and running processes, which are true for one moment only
ROWS_AT_ONCE = 200
_SPELLED_TWO_WAYS = re.compile(rb"\de\+|-0\.0")  # numbers that PostgreSQL returns in another spelling


def applied() -> list[edition.Migration]:
    return sorted(MigrationRecorder(connection).applied_migrations())


def require_known(migrations: Collection[edition.Migration], maker: str) -> MigrationLoader:
    """Return the graph of this program's migrations. Raise BackupProblem if a newer Drafthouse made these, or one that
    is too old."""
    if one := edition.unknown(migrations):
        raise BackupProblem(
            f"{maker} is of a newer Drafthouse: this one does not know {one}. Install that version, or a newer one."
        )
    if one := edition.lacking(migrations):
        raise BackupProblem(
            f"{maker} is of a Drafthouse before {one}, which this one no longer has. Check out commit "
            f"{edition.LAST_THAT_MIGRATES}, restore and migrate there, and make another backup."
        )
    return MigrationLoader(None)


def latest(migrations: Collection[edition.Migration], loader: MigrationLoader) -> list[edition.Migration]:
    """Return the last migrations of each app: those that no other one of the app follows."""
    nodes = loader.graph.nodes.keys() & {*migrations}
    parents = {one: loader.graph.node_map[one].parents for one in nodes}
    return sorted(nodes - {node.key for one in nodes for node in parents[one] if node.key[0] == one[0]})


def models_at(migrations: Collection[edition.Migration]) -> dict[str, type[Model]]:
    """Return the model of every table by its label, as these migrations define it."""
    loader = require_known(migrations, "The database")
    state = loader.project_state(latest(migrations, loader))
    found = {model._meta.label_lower: model for model in state.apps.get_models(include_auto_created=True)}
    return {label: found[label] for label in sorted(found.keys() - LEFT_OUT)}


class Content:
    """The content of a table: its row count, and a hash that does not depend on the database."""

    def __init__(self) -> None:
        self._rows, self._size, self._digest = 0, 0, hashlib.sha256()

    def add(self, row: Any, line: bytes) -> None:
        self._rows += 1
        self._size += len(line)
        self._digest.update(_canonical(row, line))

    def to_dict(self) -> dict[str, Any]:
        return {"rows": self._rows, "bytes": self._size, "sha256": self._digest.hexdigest()}


def lines(model: type[Model], content: Content) -> Iterator[bytes]:
    """Yield every row in the order of its key."""
    names = [field.attname for field in model._meta.concrete_fields]
    rows = model._base_manager.order_by("pk").values_list(*names)
    for row in rows.iterator(ROWS_AT_ONCE):
        line = json.dumps(row, separators=(",", ":"), default=_plain).encode() + b"\n"
        content.add(row, line)
        yield line


def read(model: type[Model], line: bytes) -> Model:
    fields = model._meta.concrete_fields
    try:
        values = json.loads(line)
        if not isinstance(values, list) or len(values) != len(fields):
            raise ValueError("another number of columns")
        return model(**{field.attname: field.to_python(value) for field, value in zip(fields, values, strict=True)})
    except (ValueError, TypeError, RecursionError) as error:
        raise BackupProblem(f"A row of {model._meta.label_lower} cannot be read ({error}).") from None


def _canonical(row: Any, line: bytes) -> bytes:
    """Write a row alike on every database: names sorted, because PostgreSQL may reorder them, and numbers spelt in one
    way."""
    if _SPELLED_TWO_WAYS.search(line):
        row = _one_spelling(json.loads(line))
    elif b"{" not in line:
        return line
    return json.dumps(row, separators=(",", ":"), default=_plain, sort_keys=True).encode() + b"\n"


def _one_spelling(value: Any) -> Any:
    match value:
        case float() if "e+" in repr(value):
            return int(Decimal(repr(value)))
        case float() if value == 0:
            return 0.0
        case list():
            return [_one_spelling(item) for item in value]
        case dict():
            return {name: _one_spelling(item) for name, item in value.items()}
        case _:
            return value


def _plain(value: Any) -> str:
    match value:
        case datetime():
            return value.isoformat()
        case UUID():
            return str(value)
        case bytes() | memoryview():
            return b64encode(value).decode()
    raise TypeError(f"no way to write {type(value).__name__}")
