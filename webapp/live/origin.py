"""Check that a page of ours opens a socket. Browsers send the session to any socket; only Origin names the page."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.http.request import split_domain_port, validate_host


def is_ours(headers: Mapping[bytes, bytes], scheme: str) -> bool:
    """Tell whether a page of ours asks. `scheme` is the socket's: a page that came without TLS may not open one with
    it, because anybody on the way can have written that page."""
    origin = headers.get(b"origin", b"").decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1")
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    if not host or not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        return False
    return origin in (f"https://{host}", *([] if scheme == "wss" else [f"http://{host}"]))
