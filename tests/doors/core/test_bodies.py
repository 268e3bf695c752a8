"""Bodies that are too long end in a 413 that the client gets to read, before any disk fills."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from webapp.core.bodies import LONGEST_QUERY, MOST_IN_QUERY, PATIENCE, LimitBodies

LONGEST = 10


async def swallow(scope: Any, receive: Any, send: Any) -> None:
    """An application that reads the whole body."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def sent(pieces: list[bytes], query: bytes = b"", **headers: bytes) -> tuple[list[dict[str, Any]], int]:
    """The messages of the answer, and how many pieces were read."""
    messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces[:-1]]
    messages.append({"type": "http.request", "body": pieces[-1], "more_body": False})
    answer: list[dict[str, Any]] = []
    waiting = iter(messages)
    read = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 1
        return next(waiting)

    async def send(message: dict[str, Any]) -> None:
        answer.append(message)

    named = [(name.replace("_", "-").encode(), value) for name, value in headers.items()]
    scope = {"type": "http", "headers": named, "query_string": query}
    asyncio.run(LimitBodies(swallow, longest=LONGEST)(scope, receive, send))
    return answer, read


def ask(pieces: list[bytes], declared: int | None = None, query: bytes = b"", encoding: bytes = b"") -> tuple[int, int]:
    """The status, and how many pieces were read."""
    headers = {"content_length": str(declared).encode()} if declared is not None else {}
    answer, read = sent(pieces, query, **headers, **({"transfer_encoding": encoding} if encoding else {}))
    return answer[0]["status"], read


@pytest.mark.parametrize("declared", [10, None])
def test_the_longest_body_passes(declared):
    assert ask([b"12345", b"67890"], declared)[0] == 200


@pytest.mark.parametrize("declared", [11, None])
def test_one_byte_more_does_not_and_is_read_to_its_end(declared):
    assert ask([b"12345", b"67890", b"x"], declared) == (413, 3)


def test_patience_has_an_end_and_two_lengths_are_refused():
    status, read = ask([b"1234567890"] * 100, None)
    assert (status, read) == (413, PATIENCE + 1)
    assert ask([b"12345"], 5, encoding=b"chunked")[0] == 400
    assert ask([b"12345"], encoding=b"chunked")[0] == 200


@pytest.mark.parametrize(
    ("query", "status"),
    [
        (b"a=" + b"x" * (LONGEST_QUERY - 2), 200),
        (b"a=" + b"x" * (LONGEST_QUERY - 1), 414),
        (b"&".join([b"a"] * MOST_IN_QUERY), 200),
        (b"&".join([b"a"] * (MOST_IN_QUERY + 1)), 414),
    ],
)
def test_a_query_has_a_length_and_a_count_that_are_refused_unread(query, status):
    assert ask([b"1234"], query=query)[0] == status


def test_the_refusal_carries_the_id_of_its_request():
    (start, body), _ = sent([b""], content_length=b"11", x_request_id=b"mine-1234")
    assert (b"x-request-id", b"mine-1234") in start["headers"]
    assert json.loads(body["body"])["request_id"] == "mine-1234"
