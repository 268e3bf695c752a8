"""The proxy examples, run as they are but for addresses, in front of a whole Drafthouse."""

from __future__ import annotations

import hashlib
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
from websockets.sync.client import connect

from tests.kit.ports import free_port, free_ports
from tests.kit.up import DEADLINE, ROOT, Up, until
from tests.kit.visitor import Visitor

EXAMPLES = ROOT / "docker" / "proxy"
NAME = "lab.test"
CHUNK = os.urandom(8 * 1024 * 1024)
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


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    settings = {"DRAFTHOUSE_HOSTS": f"{NAME},127.0.0.1", "DRAFTHOUSE_HTTPS": "true", "DRAFTHOUSE_PROXIES": "127.0.0.1"}
    up = Up(tmp_path_factory.mktemp("data"), "--workers", "0", **settings).wait()
    yield up
    up.interrupt()


@pytest.fixture(scope="module")
def lab(kind: str, up: Up, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    web = up.address.removeprefix("http://")
    with proxy(kind, web, tmp_path_factory.mktemp("lab")) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def token(up: Up) -> str:
    return up.token()


@pytest.fixture(scope="module")
def comparison(lab: Visitor, token: str) -> dict[str, Any]:
    """It waits: there is no worker."""
    (pair,) = lab.call("pairs/", token)["results"]
    prompts = lab.call("datasets/", token)["results"][0]
    body = {"pair": pair["id"], "dataset": prompts["id"], "limit": 2, "strategies": [{"strategy": "threshold"}]}
    return lab.call("comparisons/", token, body)


def test_what_a_client_claims_about_itself_ends_at_the_proxy(echo: Visitor) -> None:
    claims = {"X_Forwarded_For": "203.0.113.7", "X_Forwarded_Proto": "http", "X_Forwarded_Host": "evil.test"}
    told = echo.ask("GET", "/", Forwarded="for=203.0.113.7", **claims).body.decode()
    headers = dict(line.split(": ", 1) for line in told.lower().splitlines() if line)
    assert headers["x-forwarded-for"] == "127.0.0.1"
    assert headers["x-forwarded-proto"] == "https"
    assert headers["host"] == headers["x-forwarded-host"] == f"{NAME}:{echo.port}"
    assert "forwarded" not in headers
    assert echo.ask("GET", "/metrics").status == 404


def test_frames_and_a_whole_chunk_come_through_the_proxy(lab: Visitor, up: Up, token: str, comparison: Any) -> None:
    person = Visitor(NAME, lab.port, lab.authority)
    assert person.submit(up.token("--sign-in").removeprefix(up.address)).status == 302
    page = person.ask("GET", "/comparisons/")
    assert "max-age=31536000" in page.headers["Strict-Transport-Security"]  # once, and from Drafthouse
    with connect(
        f"{lab.origin.replace('https', 'ws')}/ws/comparisons/{comparison['id']}/",
        sock=person.connect(),
        origin=lab.origin,
        additional_headers={"Cookie": person.cookie_header()},
    ) as line:
        line.send('{"t": "follow", "cursors": {}}')
        assert "comparison" in line.recv(DEADLINE)

    answer = lab.ask("GET", f"/api/v1/me/?{'x' * 12_000}=", Authorization=f"Bearer {token}")
    assert answer.headers["X-Request-ID"], "the proxy refused it before Drafthouse saw it"
    sha256 = hashlib.sha256(CHUNK).hexdigest()
    files = [{"path": "model/model.safetensors", "size": len(CHUNK), "chunks": [sha256]}]
    upload = lab.call("uploads/", token, {"name": "model", "files": files})
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
    assert lab.ask("PUT", f"/api/v1/uploads/{upload['id']}/chunks/{sha256}/", CHUNK, **headers).status == 204


def test_wrong_passwords_of_one_address_lock_out_no_other(lab: Visitor) -> None:
    def tries(address: str, **claims: str) -> set[int]:
        stranger = Visitor(NAME, lab.port, lab.authority, own_address=address)
        names = [f"user{number}" for number in range(31)]
        return {stranger.submit("/sign-in/", f"username={name}&password=wrong", **claims).status for name in names}

    assert 429 in tries("127.0.0.2", X_Forwarded_For="203.0.113.7")
    other = Visitor(NAME, lab.port, lab.authority, own_address="127.0.0.3")
    assert other.submit("/sign-in/", "username=user&password=wrong").status == 422


def test_no_secret_of_an_address_is_in_the_proxys_log(kind: str, tmp_path: Path) -> None:
    """With nothing behind it, a proxy has much to complain about."""
    with proxy(kind, f"127.0.0.1:{free_port()}", tmp_path) as visitor:
        assert visitor.ask("GET", "/shared/s3cret/?ticket=t1cket", Authorization="Bearer t0ken").status == 502
    log = (tmp_path / "log").read_text()
    assert not any(secret in log for secret in ("s3cret", "t1cket", "t0ken"))
