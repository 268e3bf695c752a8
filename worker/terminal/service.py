"""A running Drafthouse, asked over REST. Standard library only: on a machine that merely asks, nothing is installed."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from http.client import HTTPException
from typing import Any, NoReturn

HERE = "http://127.0.0.1:8000"
PATIENCE = 120  # s for one answer
REFUSED, UNREACHABLE = 2, 3  # exit codes
OF_A_PROXY = (502, 504)  # with nobody behind it


class ServiceRefused(Exception):
    """The service's refusal, as a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Service:
    def __init__(self, address: str = HERE) -> None:
        if not address.startswith(("http://", "https://")):
            raise ServiceRefused(400, f"{address} is not the address of a Drafthouse; write it as in {HERE}.")
        self.address = address.rstrip("/")

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        """JSON for JSON; None where the answer is empty."""
        answer = self.read(method, path, body)
        try:
            return json.loads(answer) if answer else None
        except ValueError:
            raise ServiceRefused(
                502, f"What answers at {self.address} is not Drafthouse: it did not send JSON."
            ) from None

    def read(self, method: str, path: str, body: Any = None) -> bytes:
        """Read an answer of any kind: JSON, CSV, a file."""
        content = None if body is None else json.dumps(body).encode()
        return self._call(method, path, content, {"Content-Type": "application/json"})

    def put(self, path: str, content: bytes) -> None:
        self._call("PUT", path, content, {"Content-Type": "application/octet-stream"})

    def _call(self, method: str, path: str, content: bytes | None, headers: dict[str, str]) -> bytes:
        headers["Authorization"] = f"Bearer {_token()}"
        request = urllib.request.Request(self.address + path, content, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            if error.code in OF_A_PROXY:
                raise OSError(f"{error.code} {error.reason}") from None
            raise ServiceRefused(error.code, _sentence(error)) from None
        except HTTPException as error:  # an address that cannot be one, or an answer that is no HTTP
            raise OSError(f"{type(error).__name__} {error}") from None


def exit_with(error: ServiceRefused | OSError) -> NoReturn:
    """Print why a command failed, and exit."""
    if isinstance(error, ServiceRefused):
        sentence, code = str(error), REFUSED
    elif error.filename:
        sentence, code = f"{error.filename} cannot be read: {error.strerror}.", REFUSED
    else:
        sentence, code = f"The service does not answer: {error}.", UNREACHABLE
    sys.stderr.write(f"{sentence}\n")
    sys.exit(code)


def _token() -> str:
    token = os.environ.get("DRAFTHOUSE_TOKEN", "").strip()
    if not token:
        raise ServiceRefused(401, "Set DRAFTHOUSE_TOKEN to an API token; the page API tokens makes one.")
    return token


def _sentence(error: urllib.error.HTTPError) -> str:
    """Read the sentences of a problem, each with its field."""
    with error:
        try:
            problem = json.loads(error.read())
            words = [f"{one['field']}: {one['detail']}" for one in problem.get("errors", ()) if one["field"]]
            return " ".join(filter(None, (*(words or [problem["detail"]]), problem.get("hint", ""))))
        except (ValueError, KeyError, TypeError):
            return f"The service answers {error.code} {error.reason}."
