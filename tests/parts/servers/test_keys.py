"""Keys and certificates of servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach, key_of
from decoding.backends.contestants.servers.guard import TERMINAL
from decoding.backends.contestants.servers.running import Servers
from decoding.core.ending import Decoded
from decoding.dice.sampling import Sampling
from decoding.errors import BadServer, BrokenModel, ServerFailed
from decoding.trace.events import Delivered, Event
from tests.kit.servers.authority import DAY, Authority
from tests.kit.servers.formats import speaking
from tests.kit.servers.stage import LETTERS, asking, server_choice, truthful
from tests.kit.servers.wire import Reply, Script, events, serving

LLAMA = truthful("llamacpp")
KEY = "sk-0123456789abcdefghijklmnopqrstuv"


def begin(spec: EndpointSpec, keys: dict[str, str] | None = None, certificates: str = "") -> None:
    """Meet a server as a comparison does."""
    servers = Servers(Reach({"it": spec}, keys or {}, TERMINAL, certificates), None)
    try:
        servers.begin([server_choice()])
    finally:
        servers.close()


def test_a_key_goes_into_the_header_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("sk-secret-1\n")
    monkeypatch.setenv("SERVER_KEY", "sk-secret-2")
    for reference, key in ((f"file:{tmp_path / 'key'}", "sk-secret-1"), ("env:SERVER_KEY", "sk-secret-2")):
        with serving(lambda asked, key=key: Reply([f"wrong key {key}".encode()], 403)) as wire:
            spec = EndpointSpec("it", wire.address, "llamacpp", key=reference)
            with pytest.raises(ServerFailed) as told:
                begin(spec, {reference: key_of(reference)})
        assert wire.asked[0].headers["Authorization"] == f"Bearer {key}"
        assert key not in str(told.value) + repr(spec) and "Its key may have expired" in str(told.value)
    for reference in ("env:NOT_SET_ANYWHERE", "file:/no/such/file", "file:/dev/null", "plain"):
        with pytest.raises(BadServer):
            key_of(reference)


def answered(script: Script, key: str = KEY) -> tuple[Decoded | BrokenModel, list[Event]]:
    """Ask a server alone, without a tokenizer."""
    with asking(script, "openai", tokenizer=None, key=key) as (ask, _):
        [found] = ask("ab", sampling=Sampling(max_new_tokens=100))
    return found


def texts(*pieces: str) -> Reply:
    chunks = [{"choices": [{"index": 0, "text": piece}]} for piece in pieces]
    chunks[-1]["choices"][0]["finish_reason"] = "length"
    return Reply(events(*chunks))


ECHOES: dict[str, Any] = {
    "an error": lambda asked: Reply([f'{{"error": {{"message": "bad {KEY}"}}}}'.encode()], 500),
    "an error in the stream": lambda asked: Reply(events({"error": {"message": f"bad Bearer {KEY}"}})),
    "an event that is no JSON": lambda asked: Reply([f"data: {KEY}\n\n".encode()]),
    "escaped letters": lambda asked: Reply([b'data: {"error": "bad \\u0073k-' + KEY[3:].encode() + b'"}\n\n']),
    "the text": lambda asked: texts(f"my key is {KEY}, yes"),
}  # fmt: skip


@pytest.mark.parametrize("where", ECHOES)
def test_a_key_that_a_server_repeats_is_blotted_out(where: str) -> None:
    answer, told = answered(ECHOES[where])
    shown = f"{answer} {told}"
    assert "(key)" in shown
    assert not any(KEY[at : at + 16] in shown for at in range(len(KEY) - 15))


def test_a_key_is_blotted_out_of_a_text_wherever_the_stream_is_cut_and_a_short_word_is_left() -> None:
    text = f"one {KEY} two {KEY[:15]} three"
    for size in (1, 20):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        answer, told = answered(lambda asked, pieces=pieces: texts(*pieces))
        streamed = "".join(event.text for event in told if isinstance(event, Delivered))
        for shown in (answer.text, streamed):
            assert "(key)" in shown and not any(KEY[at : at + 16] in shown for at in range(len(KEY) - 15))
            assert shown.startswith("one ") and shown.endswith(f" two {KEY[:15]} three")
    answer, _ = answered(lambda asked: texts("EMPTY"), "EMPTY")
    assert answer.text == "EMPTY"


def test_an_answer_whose_tokens_spell_the_key_is_left_out() -> None:
    spelled = LETTERS.encode("abcdefghabcd")
    with asking(speaking("vllm", lambda *_: [spelled], LETTERS.decode), "vllm", key="abcdefgh") as (ask, _):
        [(answer, _)] = ask("ab")
    assert str(answer) == "it wrote its own key into its answer, so the answer is left out."


def test_a_certificate_is_trusted_only_if_its_authority_is_named_and_it_is_valid(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    named = {"certificates": str(authority.file)}
    for tls, settings, told in (
        (authority.tls(), {}, "unable to get local issuer certificate. Replace the server's certificate, or"),
        (authority.tls(ends=-DAY), named, "certificate has expired. Replace the server's certificate"),
        (authority.tls(address="192.0.2.1"), named, "IP address mismatch"),
    ):
        with asking(LLAMA, tls=tls, **settings) as (ask, wire):
            [(refused, _)] = ask("ab")
        assert f"it cannot be trusted: {told}" in str(refused) and not wire.asked
    with asking(LLAMA, tls=authority.tls(), **named) as (ask, _):
        [(answer, _)] = ask("ab")
    assert len(answer.tokens) == 12


def test_a_server_without_tls_is_told_apart_and_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    with serving(LLAMA) as wire:
        spec = EndpointSpec("it", wire.address.replace("http:", "https:"), "llamacpp")
        with pytest.raises(ServerFailed, match=r"it cannot be reached over TLS: .* If it speaks plain HTTP"):
            begin(spec)
    file = tmp_path / "authority.pem"
    file.write_text("no certificate")
    with pytest.raises(BadServer, match=r"authority.pem holds no certificates: .* Give a PEM file"):
        begin(EndpointSpec("it", "https://127.0.0.1:9", "llamacpp"), certificates=str(file))
