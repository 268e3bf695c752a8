"""Fingerprints of the two secrets, kept in the database: a machine with other secrets would refuse every token, link
and session that the others made, so it refuses to start instead."""

from __future__ import annotations

import hashlib
import hmac

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper

SECRETS = ("secret_key", "token_pepper")
TABLE = "core_fact"  # no model is imported above: manage.py loads this module before Django's apps


def keep() -> None:
    """Keep the fingerprints of our secrets, unless the database has some."""
    from webapp.core.models import Fact

    for name in SECRETS:
        Fact.objects.get_or_create(name=_fact(name), defaults={"value": _fingerprint(name)})


def accept() -> None:
    """Keep the fingerprints of our secrets in place of those that the database has."""
    from webapp.core.models import Fact

    for name in SECRETS:
        Fact.objects.update_or_create(name=_fact(name), defaults={"value": _fingerprint(name)})


def mismatch(connection: BaseDatabaseWrapper) -> str:
    """Say which of our secrets differ from those that the database was made with; empty if none do."""
    with connection.cursor() as cursor:
        if TABLE not in connection.introspection.table_names(cursor):
            return ""
        cursor.execute(f"SELECT name, value FROM {TABLE}")
        kept = dict(cursor.fetchall())
    other = [name for name in SECRETS if kept.get(_fact(name), _fingerprint(name)) != _fingerprint(name)]
    if not other:
        return ""
    files = " and ".join(f"secrets/{name}" for name in other)
    names = " and ".join(f"DRAFTHOUSE_{name.upper()}" for name in other)
    return (
        f"This machine's secrets are not those of this database: {' and '.join(other)} differ. Copy {files} from the "
        f"data folder of a machine that serves it, or set {names}."
    )


def _fact(name: str) -> str:
    return f"fingerprint of {name}"


def _fingerprint(name: str) -> str:
    secret: str = getattr(settings, name.upper())
    return hmac.new(secret.encode(), f"drafthouse {name}".encode(), hashlib.sha256).hexdigest()
