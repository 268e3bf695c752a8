"""An answer that is made as it is sent: its beginning comes at once, and it is never held whole."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from django.http import HttpRequest, StreamingHttpResponse
from django.test import RequestFactory

from webapp.core.waiting import AT_WORK, turns

LINE, COUNT = "x" * 1023 + "\n", 1000


class Made:
    """How many lines somebody has asked for so far."""

    count = 0

    def lines(self) -> Iterator[str]:
        for _ in range(COUNT):
            self.count += 1
            yield LINE


def answering(made: list[Made]):
    async def get_response(request: HttpRequest) -> StreamingHttpResponse:
        made.append(Made())
        return StreamingHttpResponse(made[-1].lines())

    return turns(get_response)


def test_a_piece_is_made_when_the_one_before_was_taken():
    made: list[Made] = []

    async def read() -> list[bytes]:
        pieces = aiter(await answering(made)(RequestFactory().get("/")))
        first = await anext(pieces)
        assert made[0].count < COUNT / 10
        return [first, *[piece async for piece in pieces]]

    pieces = asyncio.run(read())
    assert b"".join(pieces) == LINE.encode() * COUNT
    assert len(pieces) > 10


def test_who_reads_slowly_keeps_no_turn_from_others():
    made: list[Made] = []

    async def read() -> int:
        answer = answering(made)
        slow = [aiter(await answer(RequestFactory().get("/"))) for _ in range(2 * AT_WORK)]
        for pieces in slow:
            await anext(pieces)
        return len([piece async for piece in await answer(RequestFactory().get("/"))])

    assert asyncio.run(asyncio.wait_for(read(), 60)) > 10
    assert [one.count < COUNT for one in made] == [True] * 2 * AT_WORK + [False]
