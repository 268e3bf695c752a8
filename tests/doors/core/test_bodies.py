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
    waiting = iter([(piece, True) for piece in pieces[:-1]] + [(pieces[-1], False)])
    answer: list[dict[str, Any]] = []
    read = 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        read += 1
        piece, more = next(waiting)
        return {"type": "http.request", "body": piece, "more_body": more}

    async def send(message: dict[str, Any]) -> None:
        answer.append(message)

    named = [(name.replace("_", "-").encode(), value) for name, value in headers.items()]
    scope = {"type": "http", "headers": named, "query_string": query}
    asyncio.run(LimitBodies(swallow, longest=LONGEST)(scope, receive, send))
    return answer, read


def status(pieces: list[bytes], query: bytes = b"", **headers: bytes) -> int:
    return int(sent(pieces, query, **headers)[0][0]["status"])


@pytest.mark.parametrize("declared", [True, False])
def test_the_longest_body_passes_and_one_byte_more_does_not_and_is_read_to_its_end(declared):
    fits, over = ({"content_length": length} if declared else {} for length in (b"10", b"11"))
    assert status([b"12345", b"67890"], **fits) == 200
    answer, read = sent([b"12345", b"67890", b"x"], **over)
    assert (answer[0]["status"], read) == (413, 3)


def test_patience_has_an_end_and_two_lengths_are_refused_and_a_refusal_carries_the_id_of_its_request():
    answer, read = sent([b"1234567890"] * 100)
    assert (answer[0]["status"], read) == (413, PATIENCE + 1)
    assert status([b"12345"], content_length=b"5", transfer_encoding=b"chunked") == 400
    assert status([b"12345"], transfer_encoding=b"chunked") == 200
    (start, body), _ = sent([b""], content_length=b"11", x_request_id=b"mine-1234")
    assert (b"x-request-id", b"mine-1234") in start["headers"]
    assert json.loads(body["body"])["request_id"] == "mine-1234"


def test_a_query_has_a_length_and_a_count_that_are_refused_unread():
    for query, expected in (
        (b"a=" + b"x" * (LONGEST_QUERY - 2), 200),
        (b"a=" + b"x" * (LONGEST_QUERY - 1), 414),
        (b"&".join([b"a"] * MOST_IN_QUERY), 200),
        (b"&".join([b"a"] * (MOST_IN_QUERY + 1)), 414),
    ):
        assert status([b"1234"], query) == expected
