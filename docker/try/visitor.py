"""Somebody at https://NAME, with a cookie jar and no name server. Standard library only."""

from __future__ import annotations

import json
import re
import socket
import ssl
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPMessage
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

PATIENCE = 120.0  # s for one answer
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass
class Answer:
    status: int
    headers: HTTPMessage
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Visitor:
    name: str
    port: int
    authority: Path  # the certificate that signs the name's
    own_address: str = "127.0.0.1"
    cookies: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"https://{self.name}:{self.port}"

    def connect(self) -> ssl.SSLSocket:
        line = socket.create_connection(("127.0.0.1", self.port), PATIENCE, (self.own_address, 0))
        return ssl.create_default_context(cafile=self.authority).wrap_socket(line, server_hostname=self.name)

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """One request on a connection of its own. Underscores in a header's name are hyphens."""
        sent = {"Host": f"{self.name}:{self.port}", "Cookie": self.cookie_header()}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = HTTPConnection(self.name, self.port)
        connection.sock = self.connect()
        try:
            connection.request(method, path, body, sent)
            response = connection.getresponse()
            answer = Answer(response.status, response.headers, response.read())
        finally:
            connection.close()
        for line in answer.headers.get_all("Set-Cookie", []):
            self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
        return answer

    def cookie_header(self) -> str:
        return "; ".join(f"{name}={value}" for name, value in self.cookies.items())

    def submit(self, path: str, fields: str = "", **headers: str) -> Answer:
        """Open the page and send its form."""
        page = self.ask("GET", path).body.decode()
        (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page))
        body = f"csrfmiddlewaretoken={token}&{fields}".encode()
        return self.ask("POST", path, body, Origin=self.origin, Referer=self.origin + path, **FORM, **headers)

    def call(self, path: str, token: str, body: Any = None) -> Any:
        """REST: JSON for JSON."""
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        answer = self.ask("GET" if body is None else "POST", f"/api/v1/{path}", content, **headers)
        assert answer.status < 300, f"{path}: {answer.status} {answer.body[:500]!r}"
        return answer.json()
