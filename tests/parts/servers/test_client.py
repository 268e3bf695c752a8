"""Servers that misbehave: each failure is one sentence, and the next request finds the server free."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing, suppress
from typing import Any

import pytest

from decoding.backends.contestants.base import Request
from decoding.backends.contestants.servers.dialects.base import counters
from decoding.backends.contestants.servers.endpoint import EndpointSpec, Reach
from decoding.backends.contestants.servers.guard import TERMINAL
from decoding.backends.contestants.servers.running import Servers
from decoding.backends.contestants.servers.server import LARGEST_ANSWER, Events, Head, Server
from decoding.core.ending import Ending
from decoding.core.load import Load
from decoding.core.loop import never
from decoding.dice.sampling import Sampling
from decoding.errors import BadServer, ServerFailed
from decoding.trace.events import Delivered, Recorder, to_dict
from tests.kit.pairs import Letters, pair
from tests.kit.servers.formats import speaking
from tests.kit.servers.stage import LETTERS, asking, comparing, greedy, in_steps, reach, server_choice, truthful
from tests.kit.servers.wire import Asked, Reply, Script, altered, events, serving

POST = Asked("POST", "/completion", {}, {"prompt": [0, 1], "n_predict": 12})
LLAMA = truthful("llamacpp")
STREAM = b"data: 1\n\n: a comment\r\nid: 7\r\ndata: 2\r\ndata: 3\r\n\r\ndata:4\n\ndata: 5\n"


def test_events_are_found_wherever_their_bytes_are_cut_and_one_without_an_end_is_cut_off() -> None:
    for size in (1, 1000):
        parser, found = Events(), []
        for start in range(0, len(STREAM), size):
            found += parser.feed(STREAM[start : start + size])
        assert found == [b"1", b"2\n3", b"4"]
    with pytest.raises(ServerFailed, match="so it was cut off"):
        for _ in range(2 + LARGEST_ANSWER // (1 << 20)):
            parser.feed(b"data: " + b"x" * (1 << 20))


def streaming(*pieces: Any) -> Script:
    return lambda asked: Reply(pieces) if asked.path == "/completion" else LLAMA(asked)


def refusing(status: int, body: Any = None, headers: dict[str, str] | None = None) -> Script:
    return lambda asked: Reply([json.dumps(body or {}).encode()], status, headers or {})


def at_first(*replies: Reply | Script) -> Script:
    """Answer the first requests for a text so, and the others as is due."""
    left = list(replies)

    def script(asked: Asked) -> Reply:
        if asked.path != "/completion" or not left:
            return LLAMA(asked)
        one = left.pop(0)
        return one if isinstance(one, Reply) else one(asked)

    return script


def torn(asked: Asked) -> Reply:
    return Reply(LLAMA(asked).pieces[:4], is_torn=True)


def unfinished(asked: Asked) -> Reply:
    return Reply(LLAMA(asked).pieces[:4])


ENDLESS = events(*({"content": "a", "tokens": [0], "stop": False} for _ in range(1000)))
FAILURES: dict[str, tuple[Script, str]] = {
    "redirect": (refusing(302, headers={"Location": "http://169.254.169.254/"}), "redirect (302), which Drafthouse"),
    "key": (refusing(401, {"error": {"message": "expired"}}), "refuses the request (401). It wants a key"),
    "bad request": (refusing(400, {"error": {"message": "no\nsuch field"}}), "It says: no such field"),
    "busy for too long": (refusing(503, {}, {"Retry-After": "3600"}), "wants to be asked again in 3600 s"),
    "half a stream": (torn, "answers is not HTTP/1.1, or not whole: peer closed connection"),
    "no reason": (unfinished, "ended its answer after 4 tokens without saying why"),
    "error on the way": (streaming(*events({"error": {"message": "slot lost"}})), "broke off with an error: slot lost"),
    "no end": (streaming(*ENDLESS), "was asked for 12 tokens and does not end"),
    "a number of 5000 digits": (altered(LLAMA, '"prompt_ms": 20.5', f'"prompt_ms": {"9" * 5000}'), "not JSON"),
    "a running total": (altered(LLAMA, '"predicted_n": 12', '"predicted_n": 1000'), "does not end"),
    "other tokenizer": (altered(LLAMA, '"content": "', '"content": "z'), "It has another tokenizer, so it serves"),
    "start token": (
        altered(LLAMA, '"tokens_evaluated": 2', '"tokens_evaluated": 3'),
        "read the prompt as 3 tokens, and the target's tokenizer reads it as 2",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_one_sentence(name: str) -> None:
    script, words = FAILURES[name]
    with asking(script) as (ask, _):
        [(answer, _)] = ask("ab")
    assert isinstance(answer, ServerFailed)
    assert words in str(answer)
    assert str(answer).startswith(("it ", "The server ", "What it answers "))


def test_after_a_failure_the_next_request_is_answered() -> None:
    with asking(at_first(torn, unfinished)) as (ask, _):
        answers = [answer for answer, _ in ask("ab", "ab", "ab")]
    assert [isinstance(answer, ServerFailed) for answer in answers] == [True, True, False]


def test_nobody_connects_to_where_a_redirect_points() -> None:
    with serving(LLAMA) as inside:
        script = refusing(307, headers={"Location": f"{inside.address}/completion"})
        with asking(script) as (ask, _):
            [(answer, _)] = ask("ab")
    assert isinstance(answer, ServerFailed) and not inside.connections


class Pauses(list[float]):
    """Pauses that a client makes, without the time that they take."""

    async def __call__(self, pause_s: float) -> None:
        self.append(pause_s)


@pytest.mark.parametrize(
    ("status", "later", "pause_s"),
    [(503, "7", 7.0), (429, "0", 1.0), (503, "Mon, 01 Jan 2024 00:00:00 +" + "9" * 20, 1.0)],
)
def test_a_busy_server_is_asked_again_when_it_says_and_never_at_once(status: int, later: str, pause_s: float) -> None:
    busy, pauses = Reply([b"{}"], status, {"Retry-After": later}), Pauses()
    with asking(at_first(busy, busy), sleep=pauses) as (ask, wire):
        [(answer, _)] = ask("ab")
    assert len(answer.tokens) == 12
    assert len(wire.sent("/completion")) == 3 and pauses == [pause_s, pause_s]


def test_a_server_that_stays_busy_is_given_up_after_a_minute_of_pauses() -> None:
    pauses = Pauses()
    with asking(refusing(503, {}, {"Retry-After": "0"}), sleep=pauses) as (ask, _):
        [(answer, _)] = ask("ab")
    assert "answered 503 (try 61) and wants to be asked again in 1 s" in str(answer) and sum(pauses) == 60


def test_an_id_that_no_model_has_is_no_error_of_ours() -> None:
    class Lenient(Letters):
        """Leaves out what it does not know, as the tokenizers of real models do."""

        def decode(self, tokens: Any) -> str:
            return super().decode([token for token in tokens if token < 12])

    def other(prompt: Any, room: int) -> list[list[int]]:
        return [[*greedy(prompt, room)[:5], 2**31 - 1, *[0] * (room - 6)]]

    models = pair()
    models.tokenizer = Lenient()
    with comparing(speaking("vllm", other, Lenient().decode), "vllm", models) as (comparison, _):
        samples = [sample for sample in comparison.run() if sample.strategy == "server:it"]
    assert [(sample.audit.outcome, sample.audit.position) for sample in samples] == [("divergent", 5)] * 3


def test_counts_that_cannot_be_are_left_out_and_lies_are_named() -> None:
    assert counters('drafts{at="x"} NaN\ntokens 2\ntokens{at="y"} 3 1700\n', ["drafts", "tokens"]) == {"tokens": 5}
    with asking(altered(truthful("vllm"), '"num_spec_steps": 4', '"num_spec_steps": 4000'), "vllm") as (ask, _):
        [(_, [*_, told, _])] = ask("ab")
    assert (told.num_spec_steps, told.num_draft_tokens, told.acceptance_histogram) == (None, None, ())
    assert told.doubt == "it counts 4000 verifications, 16 drafted and 7 accepted tokens for an answer of 12"
    with asking(altered(LLAMA, '"tokens_predicted": 12', '"tokens_predicted": 99')) as (ask, _):
        [(answer, [*_, told, _])] = ask("ab")
    assert told.doubt == "it counts 99 tokens and sent 12" and len(answer.tokens) == 12
    with asking(altered(LLAMA, '"prompt_ms": 20.5', '"prompt_ms": 1e999')) as (ask, _):
        [(answer, events)] = ask("ab")
    assert len(answer.tokens) == 12 and json.dumps([to_dict(event, 1) for event in events], allow_nan=False)


def test_letters_that_no_database_takes_are_replaced() -> None:
    odd = b'data: {"choices": [{"index": 0, "text": "a\\ud800b\\u0000c\xff", "finish_reason": "length"}]}\n\n'
    with asking(lambda asked: Reply([odd]), "openai", tokenizer=None) as (ask, _):
        [(answer, _)] = ask("ab")
    assert answer.text == "a\ufffdb\ufffdc\ufffd"


def test_a_server_that_falls_silent_is_cut_off_at_the_deadline() -> None:
    gone = threading.Event()
    with asking(streaming(*LLAMA(POST).pieces[:3], lambda: gone.wait(60)), deadline_s=0.2) as (ask, _):
        [(answer, _)] = ask("ab")
        gone.set()
    assert str(answer) == "it did not end its answer within 0.2 s, so it was cut off."


def test_a_model_that_a_server_does_not_serve_is_refused_before_anything_runs() -> None:
    with serving(LLAMA) as wire:
        servers = Servers(reach(wire, "llamacpp", model="big"), None)
        with pytest.raises(BadServer, match="it does not serve 'big'; it serves m"):
            servers.begin([server_choice()])
        servers.close()


def test_a_run_that_is_given_up_or_cancelled_leaves_no_request_under_way() -> None:
    stuck, ended, looks = threading.Event(), threading.Event(), itertools.count()

    def script(asked: Asked) -> Reply:
        if asked.path == "/completion" and asked.body["prompt"] == [3]:
            return Reply([*LLAMA(asked).pieces[:1], lambda: stuck.wait(60), *[b": more\n\n"] * 1000, ended.set])
        return LLAMA(asked)

    with serving(script) as wire:
        servers = Servers(reach(wire, "llamacpp"), LETTERS)
        requests = [Request(server_choice(), [n], Sampling(max_new_tokens=4), 0, Ending(())) for n in (3, 1)]
        running = servers.run(requests, lambda _: Recorder(), never, Load(2))
        first, _ = next(running)
        assert first.prompt == [1]
        running.close()
        assert list(servers.run(requests[:1], lambda _: Recorder(), lambda: next(looks) > 2)) == []
        assert len(list(servers.run(requests[1:], lambda _: Recorder(), never))) == 1
        stuck.set()
        servers.close()
    assert not ended.is_set()


def test_an_error_of_our_own_is_raised_and_no_answer_is_lost_in_silence() -> None:
    odd = [{"index": 0, "text": "z", "finish_reason": "length"}]  # a letter that this tokenizer does not know
    script: Script = lambda asked: Reply(events({"choices": odd}, "[DONE]"))  # noqa: E731
    with asking(script, "openai") as (ask, _), pytest.raises(ValueError, match="substring not found"):
        ask("ab")


def test_ids_that_a_server_leaves_out_are_found_from_its_text() -> None:
    """llama.cpp sends one id for a character of several tokens."""
    steps = in_steps(LETTERS.encode("abcdef"), (1, 2, 3))

    def script(asked: Asked) -> Reply:
        whole = speaking("llamacpp", lambda *_: steps, LETTERS.decode)(asked).pieces
        if asked.path != "/completion":
            return Reply(whole)
        return Reply([*whole[:2], whole[3].replace(b'"content": "d"', b'"content": "cd"'), *whole[4:]])

    with asking(script) as (ask, _):
        [(answer, told)] = ask("ab", sampling=Sampling(max_new_tokens=6))
    assert answer.tokens == LETTERS.encode("abcdef") and told[-2].doubt == ""
    assert sum(event.count for event in told if isinstance(event, Delivered)) == 6


async def get_all(greet: Callable[..., Awaitable[None]], count: int) -> list[tuple[Head, bytes]]:
    """Ask a server that serves each connection so, one request after the other."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with closing(writer), suppress(OSError, asyncio.IncompleteReadError):  # the client has gone
            await greet(reader, writer)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        asked = Server(EndpointSpec("it", f"http://127.0.0.1:{port}", "llamacpp"), Reach(allowed=TERMINAL))
        try:
            return [await asked.get("/health") for _ in range(count)]
        finally:
            await asked.close()


def test_a_kept_connection_that_the_server_closes_costs_no_request() -> None:
    """The server reads the second request on the first connection, and closes that without an answer."""
    greeted = list[int]()

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeted.append(1)
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await reader.readuntil(b"\r\n\r\n")

    assert [body for _, body in asyncio.run(get_all(greet, 2))] == [b"ok", b"ok"]
    assert len(greeted) == 2
