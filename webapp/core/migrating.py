"""Short forms for the initial migrations, which state whole tables. A later change of a table is a later migration."""

from __future__ import annotations

import uuid
from typing import Any

from django.db import migrations, models
from django.utils import timezone

Columns = dict[str, Any]


def table(name: str, columns: Columns, **options: Any) -> migrations.CreateModel:
    return migrations.CreateModel(name, list(columns.items()), options)


def noun() -> Columns:
    return {
        "id": models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False),
        "created": models.DateTimeField(default=timezone.now, editable=False),
    }


def entry() -> Columns:
    """The columns of an entry, without its keys."""
    return {
        **noun(),
        "name": models.CharField(max_length=200),
        "frozen": models.DateTimeField(editable=False, null=True),
        "binned": models.DateTimeField(editable=False, null=True),
    }


def key(to: str, then: Any = models.CASCADE, name: str = "+", **options: Any) -> models.ForeignKey[Any, Any]:
    return models.ForeignKey(to, on_delete=then, related_name=name, **options)


def only_key(to: str, then: Any, name: str, **options: Any) -> models.OneToOneField[Any, Any]:
    return models.OneToOneField(to, on_delete=then, related_name=name, **options)


def replaced(app: str, names: str) -> list[tuple[str, str]]:
    """List the migrations that an initial one replaces."""
    return [(app, name) for name in names.split()]
