"""Keys and certificates of servers."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decoding.contestants.servers.endpoint import EndpointSpec, Reach, key_of
from decoding.contestants.servers.guard import TERMINAL
from decoding.contestants.servers.running import Servers
from decoding.errors import BadServer, DrafthouseError, ServerFailed
from tests.decoding.servers.formats import speaking
from tests.decoding.servers.stage import LETTERS, asking, honest, server_choice
from tests.decoding.servers.wire import Asked, Reply, serving

LLAMA = speaking("llamacpp", honest, LETTERS.decode)


def refusing(words: str) -> Any:
    return lambda asked: Reply([words.encode()], 403)


def test_a_key_goes_into_the_header_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("sk-secret-1\n")
    monkeypatch.setenv("SERVER_KEY", "sk-secret-2")
    for reference, key in ((f"file:{tmp_path / 'key'}", "sk-secret-1"), ("env:SERVER_KEY", "sk-secret-2")):
        with serving(refusing(f"wrong key {key}")) as wire:
            spec = EndpointSpec("it", wire.address, "llamacpp", key=reference)
            servers = Servers(Reach({"it": spec}, key_of, TERMINAL), None)
            with pytest.raises(ServerFailed) as told:
                servers.begin([server_choice()])
            servers.close()
        assert wire.asked[0].headers["Authorization"] == f"Bearer {key}"
        assert key not in str(told.value) + repr(spec) and "Its key may have expired" in str(told.value)


@pytest.mark.parametrize("reference", ["env:NOT_SET_ANYWHERE", "file:/no/such/file", "file:/dev/null", "plain"])
def test_a_key_that_cannot_be_read_is_told(reference: str) -> None:
    with pytest.raises(BadServer):
        key_of(reference)


def test_an_error_that_repeats_the_key_is_shown_without_it() -> None:
    def script(asked: Asked) -> Reply:
        return Reply([b'{"error": "no such key: sk-1"}'], 400) if asked.method == "POST" else LLAMA(asked)

    with asking(script, key="sk-1") as (ask, _):  # the stage's resolver takes the reference for the key
        [(answer, _)] = ask("ab")
    assert "no such key: (key)" in str(answer)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not on this machine")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
         "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    yield folder


def test_a_certificate_is_trusted_only_if_its_authority_is_named(certificate: Path) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    with asking(LLAMA, tls=tls) as (ask, _):
        [(refused, _)] = ask("ab")
    assert "it cannot be trusted: self-signed certificate" in str(refused)
    with asking(LLAMA, tls=tls, certificates=str(certificate / "cert.pem")) as (ask, _):
        [(answer, _)] = ask("ab")
    assert len(answer.tokens) == 12
    with pytest.raises(DrafthouseError, match="holds no certificates"), asking(
        LLAMA, tls=tls, certificates=str(certificate / "key.pem")
    ) as (ask, _):  # fmt: skip
        ask("ab")
