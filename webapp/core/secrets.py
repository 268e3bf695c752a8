"""Secrets we hand out and never keep: only a peppered digest is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from django.conf import settings


def fresh() -> str:
    """Make a secret of 256 bits that survives being pasted anywhere."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    return hmac.new(settings.TOKEN_PEPPER.encode(), secret.encode(), hashlib.sha256).hexdigest()


def matches(secret: str, stored: str) -> bool:
    return hmac.compare_digest(digest(secret), stored)
