"""Secrets that we hand out and never keep: only a peppered digest is stored. And secrets that must be read again later,
such as keys of servers: only this service's secret key opens them, so a copy of the database alone does not give them
away."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.utils.crypto import salted_hmac


def fresh() -> str:
    """Make a secret of 256 bits that survives being pasted anywhere."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    return hmac.new(settings.TOKEN_PEPPER.encode(), secret.encode(), hashlib.sha256).hexdigest()


def matches(secret: str, stored: str) -> bool:
    return hmac.compare_digest(digest(secret), stored)


class CannotOpen(Exception):
    """A sealed text was not sealed with this service's secret key."""


def seal(text: str) -> str:
    return _box().encrypt(text.encode()).decode()


def opened(sealed: str) -> str:
    """Return the text; raise CannotOpen if another secret key sealed it."""
    try:
        return _box().decrypt(sealed.encode()).decode()
    except InvalidToken:
        raise CannotOpen from None


def _box() -> Fernet:
    digest = salted_hmac("webapp.core.sealing", "", algorithm="sha256").digest()
    return Fernet(base64.urlsafe_b64encode(digest))
