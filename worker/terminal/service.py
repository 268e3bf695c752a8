"""A running Drafthouse, asked over REST. Standard library only: on a machine that merely asks, nothing is installed."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from typing import Any, NoReturn

HERE = "http://127.0.0.1:8000"
PATIENCE = 120  # s for one answer
REFUSED, UNREACHABLE = 2, 3  # exit codes


class Refused(Exception):
    """What the service answered, as a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Service:
    def __init__(self, address: str = HERE) -> None:
        self.address = address.rstrip("/")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """JSON for JSON; None where the answer is empty."""
        content = None if body is None else json.dumps(body).encode()
        answer = self._call(method, path, content, {"Content-Type": "application/json"})
        return json.loads(answer) if answer else None

    def put(self, path: str, content: bytes) -> None:
        self._call("PUT", path, content, {"Content-Type": "application/octet-stream"})

    def _call(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> bytes:
        headers["Authorization"] = f"Bearer {_token()}"
        request = urllib.request.Request(self.address + path, content, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            raise Refused(error.code, _sentence(error)) from None


def exit_with(error: Exception) -> NoReturn:
    """For the last line of a command."""
    sys.stderr.write(f"{error if isinstance(error, Refused) else f'The service does not answer: {error}.'}\n")
    sys.exit(REFUSED if isinstance(error, Refused) else UNREACHABLE)


def _token() -> str:
    token = os.environ.get("DRAFTHOUSE_TOKEN", "")
    if not token:
        raise Refused(401, "Set DRAFTHOUSE_TOKEN to an API token; the page API tokens makes one.")
    return token


def _sentence(error: urllib.error.HTTPError) -> str:
    """A problem's own words where it is one."""
    with error:
        try:
            told = json.loads(error.read())
            return " ".join(filter(None, (told["detail"], told.get("hint", ""))))
        except (ValueError, KeyError, TypeError):
            return f"The service answers {error.code} {error.reason}."
