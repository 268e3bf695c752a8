"""The log of every process: one format, and no secret in any line, whichever library writes it.

Paths with secrets in them are never logged: requests are logged by their route. Redaction is the second net. This
module needs the standard library alone, so that the engine process, which has no Django, logs in the same way.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

_SECRETS = re.compile(
    r"""
      (dh_[A-Za-z0-9]+\.)[\w-]+                                              # an API token
    | (\b(?:join|enter|shared)/)[^/\s"'?<]+                                  # a link; `<` begins a route's parameter
    | (://[^\s:/@"']*:)[^\s"']+(?=@)                                          # the password in a URL
    | (\b(?:Bearer|Basic)\s+)(?!dh_)\S+
    | (\b(?:AKIA|ASIA))[A-Z0-9]{16}\b
    | (\b(?:ticket|token|secret|password|signature|dh_session|dh_csrf|csrfmiddlewaretoken|x-amz-[a-z-]+)
       (?:=|["']?:\s*["']))[^&;\s"']+                                         # in a query, a cookie, or JSON
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NAMES = re.compile(r"(?:^|_)(?:PASSWORD|SECRET|TOKEN|PEPPER|KEY)(?:_|$)(?!.*FILE$)", re.IGNORECASE)
SHORTEST = 6  # characters; a shorter value would also match innocent words
_values: set[str] = set()
_process: dict[str, Any] = {}  # fields of every line of this process
_work: ContextVar[dict[str, Any] | None] = ContextVar("fields", default=None)  # and of the request or job in hand
_PLAIN = (str, int, float, UUID)  # others, such as Django's request, may hold paths and more
_OWN = {*vars(logging.LogRecord("", 0, "", 0, "", None, None)), "message", "asctime", "taskName"}


def name_process(service: str, **more: str) -> None:
    """Say which service this process is, for the fields of its lines."""
    _process.update(service=service, **more)


@contextmanager
def fields(**known: Any) -> Iterator[dict[str, Any]]:
    """Give these fields to every line that is logged meanwhile."""
    mine = dict(known)
    token = _work.set(mine)
    try:
        yield mine
    finally:
        _work.reset(token)


def note(**known: Any) -> None:
    """Add fields to those of the request or job in hand, if there is one."""
    if (work := _work.get()) is not None:
        work.update(known)


def hide(*values: str) -> None:
    """Replace these values wherever they stand in a line."""
    _values.update(value for value in values if len(value) >= SHORTEST)


def redact(text: str) -> str:
    for value in sorted(_values, key=len, reverse=True):
        text = text.replace(value, "…")
    return _SECRETS.sub(lambda match: f"{next(filter(None, match.groups()))}…", text)


def in_environment() -> Iterator[str]:
    """Return the values of environment variables with names of secrets, and the passwords in URLs."""
    for name, value in os.environ.items():
        if _NAMES.search(name):
            yield value
        if "://" in value:
            yield from _password(value)


def _password(url: str) -> Iterator[str]:
    try:
        password = urlsplit(url).password or ""
    except ValueError:
        return
    yield from (password, unquote(password))


class LineFormatter(logging.Formatter):
    """One line for people. The text of an exception follows below it."""

    def __init__(self) -> None:
        super().__init__("{asctime} {levelname} {name} {message}", style="{")

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class Json(logging.Formatter):
    """One JSON object a line, for collectors of logs. Fields of the process, of the work in hand and of the line itself
    (`extra`) stand beside the message."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "logger": record.name,
            "message": redact(record.getMessage()),
        }
        extra = {name: value for name, value in vars(record).items() if name not in _OWN}
        more = {**_process, **(_work.get() or {}), **extra}
        line |= {name: _plain(value) for name, value in more.items() if isinstance(value, _PLAIN)}
        if record.exc_info:
            line["exception"] = redact(self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


def _plain(value: Any) -> Any:
    return value if isinstance(value, (int, float)) else redact(str(value))


def said(line: str) -> list[str]:
    """Return what a process said in a line of its log, as people read it."""
    try:
        told = json.loads(line)
        return [told["message"], *told.get("exception", "").splitlines()]
    except (ValueError, KeyError, TypeError):
        return [line.rstrip()]


def pass_on(service: str, line: str) -> str:
    """Return a line of another process, as it stands in our log."""
    if _form() != "json":
        return f"{service}: {line.rstrip()}"
    if line.startswith("{"):
        return line.rstrip()
    record = logging.LogRecord(service, logging.WARNING, "", 0, "%s", (line.rstrip(),), None)
    record.service = service
    return Json().format(record)


def _form() -> str:
    return os.environ.get("DRAFTHOUSE_LOG", "")


class Routes(logging.Filter):
    """Replaces the path in Django's messages about a request by the route, which holds no secret."""

    def filter(self, record: logging.LogRecord) -> bool:
        path = getattr(getattr(record, "request", None), "path", None)
        if path is not None and isinstance(record.args, tuple):
            record.args = tuple(_route(record) if arg == path else arg for arg in record.args)
        return True


def _route(record: Any) -> str:
    found = getattr(record.request, "resolver_match", None)
    return f"/{found.route}" if found else "(no route)"


def _log_end(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """Log what ends the process or a thread, in one line as all else."""
    if error is None or issubclass(kind, KeyboardInterrupt):
        return sys.__excepthook__(kind, error or kind(), trace)
    logging.getLogger("drafthouse").critical("an error that nobody caught", exc_info=(kind, error, trace))


def configuration(form: str, *, level: str = "INFO") -> dict[str, Any]:
    """Return logging's configuration for `logging.config.dictConfig`. `form` is the value of DRAFTHOUSE_LOG: `json` or
    empty."""
    if form not in ("", "json"):
        raise ValueError(f"DRAFTHOUSE_LOG is {form!r}; it can be json, or be left out.")
    hide(*in_environment())
    if form:
        logging.captureWarnings(True)
        sys.excepthook = _log_end
        threading.excepthook = lambda end: _log_end(end.exc_type, end.exc_value, end.exc_traceback)
    handler = {"class": "logging.StreamHandler", "formatter": form or "line", "filters": ["routes"]}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"routes": {"()": Routes}},
        "formatters": {"line": {"()": LineFormatter}, "json": {"()": Json}},
        "handlers": {"console": handler},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            "botocore": {"level": "WARNING"},  # at INFO it says where it found the keys, in each process
            "django": {"handlers": [], "propagate": True},
            "drafthouse": {"level": level},  # Celery sets the root's level to its own
            "uvicorn": {"handlers": [], "propagate": True},
            "uvicorn.error": {"handlers": [], "level": "WARNING"},  # below this level it logs the paths of sockets
            "uvicorn.access": {"handlers": [], "level": "CRITICAL"},
        },
    }
