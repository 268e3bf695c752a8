"""Check that a page of ours opens a socket. Browsers send the session to any socket; only Origin names the page."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host


def is_ours(headers: Mapping[bytes, bytes]) -> bool:
    origin = headers.get(b"origin", b"").decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1")
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    return bool(host) and validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS) and _host(origin) == host


def _host(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""
