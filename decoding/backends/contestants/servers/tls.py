"""TLS to a server: whose certificates are trusted, and what is wrong if there is no safe connection. Standard library
only."""

from __future__ import annotations

import ssl
from pathlib import Path

from decoding.backends.contestants.servers.endpoint import CERTIFICATES
from decoding.errors import BadServer

UNKNOWN_AUTHORITY = {18, 19, 20, 21}  # X509_V_ERR_*: signed by itself, or by nobody who is known


def tls(*files: str) -> ssl.SSLContext:
    """Trust the system's authorities and those in these files."""
    context = ssl.create_default_context()
    for file in filter(None, files):
        try:
            context.load_verify_locations(Path(file))
        except (OSError, ssl.SSLError) as error:
            raise BadServer(
                f"{file} holds no certificates: {error.strerror or error}. Give a PEM file that this process can read."
            ) from None
    return context


def no_tls(error: OSError) -> str:
    """Say why there is no safe connection, and what to do. Nothing switches the check off."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        why = getattr(error, "reason", "") or error
        return f"cannot be reached over TLS: {why}. If it speaks plain HTTP, write its address with http://."
    told = f"cannot be trusted: {error.verify_message}."
    if error.verify_code not in UNKNOWN_AUTHORITY:
        return f"{told} Replace the server's certificate, or give the address that it is for."
    return (
        f"{told} If an authority of your own signed its certificate, name that authority's PEM file: certificates=FILE "
        f"with --server, or {CERTIFICATES} in the environment of the command or of the service's workers."
    )
