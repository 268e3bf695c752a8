"""Secret settings from the environment, each also readable from the file that `NAME_FILE` names."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit, urlunsplit

import environ

from decoding.public import Allowed, BadServer, allowed
from webapp.core.disk import not_writable

env = environ.Env()
DEFAULT_PASSWORDS = ("", "drafthouse", "postgres", "password")


def refuse(sentence: str) -> NoReturn:
    """End the process with a sentence instead of a traceback."""
    sys.exit(sentence)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """End the process with a sentence if the code in this context cannot write to the folder."""
    try:
        yield
    except OSError as error:
        refuse(not_writable(error.filename or folder, error.strerror))


def secret(name: str) -> str:
    """Return the value of NAME, else the content of the file that NAME_FILE names, without the line's end, else
    nothing."""
    path = os.environ.get(f"{name}_FILE", "")
    if os.environ.get(name) and path:
        refuse(f"Both {name} and {name}_FILE are set. Keep one of them.")
    if not path:
        return os.environ.get(name, "")
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        refuse(f"{name}_FILE names {path}, which cannot be read ({why}). Put the secret there, or unset {name}_FILE.")


def database(data: Path) -> dict[str, Any]:
    """Return the database's settings: DATABASE_URL, else PostgreSQL if POSTGRES_HOST is set, else SQLite in the data
    folder."""
    if url := secret("DATABASE_URL"):
        return _by_url(url)
    if host := os.environ.get("POSTGRES_HOST", ""):
        return _postgresql(host)
    return dict(env.db_url_config(f"sqlite:///{data / 'drafthouse.sqlite3'}"))


def _by_url(url: str) -> dict[str, Any]:
    with suppress(ValueError):
        if not urlsplit(url).fragment:  # such an address has no fragment: it is the rest of a password after a #
            return dict(env.db_url_config(url))
    refuse(
        "DATABASE_URL cannot be read as an address. Write its password with %-codes, as %2F for a slash, or set "
        "POSTGRES_HOST, POSTGRES_USER, POSTGRES_DB and POSTGRES_PASSWORD instead, which take any character."
    )


def _postgresql(host: str) -> dict[str, Any]:
    password = secret("POSTGRES_PASSWORD")
    if password.lower() in DEFAULT_PASSWORDS:
        known = f"is {password!r}, which everybody tries first" if password else "is empty"
        refuse(
            f"POSTGRES_PASSWORD {known}. Choose one of your own, set it for PostgreSQL too, and give it in "
            "POSTGRES_PASSWORD or in the file that POSTGRES_PASSWORD_FILE names. A server that asks for no password is "
            "named by DATABASE_URL."
        )
    return {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": host,
        "PORT": os.environ.get("POSTGRES_PORT") or "5432",
        "NAME": os.environ.get("POSTGRES_DB") or "drafthouse",
        "USER": os.environ.get("POSTGRES_USER") or "drafthouse",
        "PASSWORD": password,
    }


def broker() -> str:
    """Return REDIS_URL, with REDIS_PASSWORD in it if that is set apart. A private socket needs no password."""
    url, password = secret("REDIS_URL"), secret("REDIS_PASSWORD")
    parts = urlsplit(url)
    if not password or parts.scheme not in ("redis", "rediss"):
        return url
    if parts.password:
        refuse("REDIS_URL holds a password and REDIS_PASSWORD is set. Keep one of them.")
    user, _, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.rstrip(':')}:{quote(password, safe='')}@{place}"))


def servers(usual: Sequence[str]) -> Allowed:
    """Return the addresses of servers that comparisons may ask: DRAFTHOUSE_SERVERS, else the usual ones."""
    try:
        return allowed(env.list("DRAFTHOUSE_SERVERS", default=[*usual]))
    except BadServer as error:
        refuse(f"DRAFTHOUSE_SERVERS cannot be read. {error}")


def lend(*names: str) -> None:
    """Copy secrets from files into the environment, the only place where boto3 looks for its keys."""
    for name in names:
        if value := secret(name):
            os.environ[name] = value
            os.environ.pop(f"{name}_FILE", None)
