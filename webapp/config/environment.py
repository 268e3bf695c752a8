"""Settings from the environment that hold secrets, each also readable from the file that `NAME_FILE` names."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, urlsplit, urlunsplit

import environ

env = environ.Env()
DEFAULT_PASSWORDS = ("", "drafthouse", "postgres", "password")


def refuse(sentence: str) -> NoReturn:
    """End the process: whoever starts Drafthouse reads a sentence and no traceback."""
    sys.exit(sentence)


def secret(name: str) -> str:
    """The value of NAME, or else of the file that NAME_FILE names, without the line's end; nothing where neither is."""
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
    """The one that DATABASE_URL names, else PostgreSQL where POSTGRES_HOST says, else SQLite in the data folder."""
    if url := secret("DATABASE_URL"):
        return _by_url(url)
    if host := os.environ.get("POSTGRES_HOST", ""):
        return _postgresql(host)
    return dict(env.db_url_config(f"sqlite:///{data / 'drafthouse.sqlite3'}"))


def _by_url(url: str) -> dict[str, Any]:
    with suppress(ValueError):
        if not urlsplit(url).fragment:  # there is none in such an address: it is the rest of a password after a #
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
    """REDIS_URL, with REDIS_PASSWORD in it where it stands apart. A private socket needs none."""
    url, password = secret("REDIS_URL"), secret("REDIS_PASSWORD")
    parts = urlsplit(url)
    if not password or parts.scheme not in ("redis", "rediss"):
        return url
    if parts.password:
        refuse("REDIS_URL holds a password and REDIS_PASSWORD is set. Keep one of them.")
    user, _, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.rstrip(':')}:{quote(password, safe='')}@{place}"))


def lend(*names: str) -> None:
    """Put secrets of files where a library looks for them: boto3 reads its keys from the environment alone."""
    for name in names:
        if value := secret(name):
            os.environ[name] = value
            os.environ.pop(f"{name}_FILE", None)
