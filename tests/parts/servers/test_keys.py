"""Keys and certificates of servers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from decoding.backends.contestants.base import Request
from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach, key_of
from decoding.backends.contestants.servers.guard import TERMINAL
from decoding.backends.contestants.servers.running import Servers
from decoding.core.ending import Decoded, Ending
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.errors import BadServer, BrokenModel, ServerFailed
from decoding.trace.events import Delivered, Event, Recorder
from tests.kit.servers.authority import DAY, Authority
from tests.kit.servers.formats import speaking
from tests.kit.servers.stage import LETTERS, asking, server_choice, truthful
from tests.kit.servers.wire import Asked, Reply, Script, events, plain, serving

LLAMA = truthful("llamacpp")


def begin(spec: EndpointSpec, keys: dict[str, str] | None = None, certificates: str = "") -> None:
    """Meet a server as a comparison does."""
    servers = Servers(Reach({"it": spec}, keys or {}, TERMINAL, certificates), None)
    try:
        servers.begin([server_choice()])
    finally:
        servers.close()


def refusing(words: str) -> Any:
    return lambda asked: Reply([words.encode()], 403)


def test_a_key_goes_into_the_header_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "key").write_text("sk-secret-1\n")
    monkeypatch.setenv("SERVER_KEY", "sk-secret-2")
    for reference, key in ((f"file:{tmp_path / 'key'}", "sk-secret-1"), ("env:SERVER_KEY", "sk-secret-2")):
        with serving(refusing(f"wrong key {key}")) as wire:
            spec = EndpointSpec("it", wire.address, "llamacpp", key=reference)
            with pytest.raises(ServerFailed) as told:
                begin(spec, {reference: key_of(reference)})
        assert wire.asked[0].headers["Authorization"] == f"Bearer {key}"
        assert key not in str(told.value) + repr(spec) and "Its key may have expired" in str(told.value)


def test_a_key_that_cannot_be_read_is_told() -> None:
    for reference in ("env:NOT_SET_ANYWHERE", "file:/no/such/file", "file:/dev/null", "plain"):
        with pytest.raises(BadServer):
            key_of(reference)


KEY = "sk-0123456789abcdefghijklmnopqrstuv"


def echoing(asked: Asked) -> Reply:
    """Answer with the key wherever a server can write anything."""
    chunk = {"index": 0, "text": f"my key is {KEY}, yes", "finish_reason": "length"}
    names = plain({"data": [{"id": f"model of {KEY}"}]})
    return names if asked.method == "GET" else Reply(events({"choices": [chunk]}, "[DONE]"))


def answered(script: Script, key: str = KEY) -> tuple[Decoded | BrokenModel, list[Event]]:
    """Ask a server alone, without a tokenizer."""
    with serving(script) as wire:
        spec = EndpointSpec("it", wire.address, "openai", key=key)
        servers, sink = Servers(Reach({"it": spec}, {key: key}, TERMINAL), None), Recorder()
        request = Request(server_choice(), (), Sampling(max_new_tokens=100), 0, Ending(()), "ab")
        [(_, answer)] = servers.run([request], lambda _: sink, never)
        servers.close()
    return answer, sink.events


ECHOES: dict[str, Any] = {
    "an error": lambda asked: Reply([f'{{"error": {{"message": "bad {KEY}"}}}}'.encode()], 500),
    "an error in the stream": lambda asked: Reply(events({"error": {"message": f"bad Bearer {KEY}"}})),
    "an event that is no JSON": lambda asked: Reply([f"data: {KEY}\n\n".encode()]),
    "escaped letters": lambda asked: Reply([b'data: {"error": "bad \\u0073k-' + KEY[3:].encode() + b'"}\n\n']),
    "the text": echoing,
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
        chunks = [{"choices": [{"index": 0, "text": text[at : at + size]}]} for at in range(0, len(text), size)]
        chunks[-1]["choices"][0]["finish_reason"] = "length"
        answer, told = answered(lambda asked, chunks=chunks: Reply(events(*chunks)))
        streamed = "".join(event.text for event in told if isinstance(event, Delivered))
        for shown in (answer.text, streamed):
            assert "(key)" in shown and not any(KEY[at : at + 16] in shown for at in range(len(KEY) - 15))
            assert shown.startswith("one ") and shown.endswith(f" two {KEY[:15]} three")
    word = {"index": 0, "text": "EMPTY", "finish_reason": "stop"}
    answer, _ = answered(lambda asked: Reply(events({"choices": [word]})), "EMPTY")
    assert answer.text == "EMPTY"


def test_an_answer_whose_tokens_spell_the_key_is_left_out() -> None:
    spelled = LETTERS.encode("abcdefghabcd")
    with asking(speaking("vllm", lambda *_: [spelled], LETTERS.decode), "vllm", key="abcdefgh") as (ask, _):
        [(answer, _)] = ask("ab")
    assert str(answer) == "it wrote its own key into its answer, so the answer is left out."


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_a_certificate_is_trusted_only_if_its_authority_is_named_and_it_is_valid(authority: Authority) -> None:
    named = {"certificates": str(authority.file)}
    for tls, settings, told in (
        (authority.tls(), {}, "unable to get local issuer certificate. If an authority of your own"),
        (authority.tls(ends=-DAY), named, "certificate has expired. Replace the server's certificate"),
        (authority.tls(address="192.0.2.1"), named, "IP address mismatch"),
    ):
        with asking(LLAMA, tls=tls, **settings) as (ask, wire):
            [(refused, _)] = ask("ab")
        assert f"it cannot be trusted: {told}" in str(refused) and not wire.asked
    with asking(LLAMA, tls=authority.tls(), **named) as (ask, _):
        [(answer, _)] = ask("ab")
    assert len(answer.tokens) == 12


def test_a_server_without_tls_is_told_apart_from_one_that_is_not_trusted() -> None:
    with serving(LLAMA) as wire:
        spec = EndpointSpec("it", wire.address.replace("http:", "https:"), "llamacpp")
        with pytest.raises(ServerFailed, match=r"it cannot be reached over TLS: .* If it speaks plain HTTP"):
            begin(spec)


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "authority.pem"
    file.write_text("no certificate")
    for one, all_ in ((str(file), ""), ("", str(file))):
        spec = EndpointSpec("it", "https://127.0.0.1:9", "llamacpp", certificates=one)
        with pytest.raises(BadServer, match=r"authority.pem holds no certificates: .* Give a PEM file"):
            begin(spec, certificates=all_)
