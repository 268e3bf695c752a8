"""The proxy examples, run as they are but for addresses. docker/try puts a whole Drafthouse behind them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.kit.ports import free_port, free_ports
from tests.kit.up import DEADLINE, ROOT, until
from tests.kit.visitor import Visitor

EXAMPLES = ROOT / "docker" / "proxy"
NAME = "lab.test"
ARGUMENTS = {
    "nginx": ["-c", "{config}", "-g", "daemon off; user root;"],  # or it gives up root, and pytest's folder is root's
    "caddy": ["run", "--config", "{config}", "--adapter", "caddyfile"],
}
WHERE = f"/usr/sbin:{os.environ['PATH']}"  # Debian keeps nginx off a user's PATH
pytestmark = [
    pytest.mark.proxy,
    pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed here"),
]


def authority_of(kind: str, folder: Path) -> Path:
    """Caddy makes its own; nginx serves the certificate that docker/secrets.sh makes."""
    if kind == "caddy":
        return folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
    subprocess.run([ROOT / "docker" / "secrets.sh", NAME], cwd=folder, check=True, capture_output=True)
    return folder / "secrets" / "tls.crt"


@contextmanager
def proxy(kind: str, web: str, folder: Path) -> Iterator[Visitor]:
    """The example in front of `web`, and a visitor in front of the example."""
    plain, tls, health = free_ports(3)
    authority = authority_of(kind, folder)
    changes = {
        "web:8000": web,
        "listen ": "listen 127.0.0.1:",
        "admin off": "admin off\n default_bind 127.0.0.1",
        "8080": str(plain),
        "8443": str(tls),
        "8081": str(health),
        "/run/secrets/tls_certificate": str(authority),
        "/run/secrets/tls_key": str(folder / "secrets" / "tls.key"),
        "/tmp/": f"{folder}/",
    }
    text = (EXAMPLES / {"nginx": "nginx.conf", "caddy": "Caddyfile"}[kind]).read_text()
    config = folder / "config"
    config.write_text(re.sub("|".join(changes), lambda found: changes[found[0]], text))
    command = [shutil.which(kind, path=WHERE), *(part.format(config=config) for part in ARGUMENTS[kind])]
    env = {**os.environ, "DRAFTHOUSE_SITE": NAME, "XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)}
    log = folder / "log"
    with log.open("w") as said, subprocess.Popen(command, env=env, stdout=said, stderr=said) as process:
        visitor = Visitor(NAME, tls, authority)
        try:
            until(lambda: process.poll() is not None or answers(visitor), f"{kind} to answer")
            assert process.poll() is None, log.read_text()
            yield visitor
        finally:
            process.terminate()
            process.wait(DEADLINE)


def answers(visitor: Visitor) -> bool:
    try:
        return bool(visitor.ask("GET", "/healthz").status)
    except OSError:
        return False


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def kind(request: pytest.FixtureRequest) -> str:
    if not shutil.which(request.param, path=WHERE):
        pytest.skip(f"{request.param} is not installed here")
    return request.param


class Echo(BaseHTTPRequestHandler):
    """Answers with the headers that it received."""

    def do_GET(self) -> None:
        text = str(self.headers).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def echo(kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with proxy(kind, f"127.0.0.1:{server.server_port}", tmp_path_factory.mktemp("echo")) as visitor:
            yield visitor
        server.shutdown()


def test_what_a_client_claims_about_itself_ends_at_the_proxy(echo: Visitor) -> None:
    claims = {"X_Forwarded_For": "203.0.113.7", "X_Forwarded_Proto": "http", "X_Forwarded_Host": "evil.test"}
    told = echo.ask("GET", "/", Forwarded="for=203.0.113.7", **claims).body.decode()
    headers = dict(line.split(": ", 1) for line in told.lower().splitlines() if line)
    assert headers["x-forwarded-for"] == "127.0.0.1"
    assert headers["x-forwarded-proto"] == "https"
    assert headers["host"] == headers["x-forwarded-host"] == f"{NAME}:{echo.port}"
    assert "forwarded" not in headers
    assert echo.ask("GET", "/metrics").status == 404


def test_no_secret_of_an_address_is_in_the_proxys_log(kind: str, tmp_path: Path) -> None:
    """With nothing behind it, a proxy has much to complain about."""
    with proxy(kind, f"127.0.0.1:{free_port()}", tmp_path) as visitor:
        assert visitor.ask("GET", "/shared/s3cret/?ticket=t1cket", Authorization="Bearer t0ken").status == 502
    log = (tmp_path / "log").read_text()
    assert not any(secret in log for secret in ("s3cret", "t1cket", "t0ken"))
