"""Seal secrets that must be read again later, such as keys of servers. Only this service's secret key opens them, so a
copy of the database alone does not give them away.
"""

from __future__ import annotations

import base64

from cryptography.fernet import Fernet, InvalidToken
from django.utils.crypto import salted_hmac


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
