"""The web server under many requests at once, and with long answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from asgiref.sync import ThreadSensitiveContext
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import RequestFactory
from django.urls import path

from webapp.core import conditions
from webapp.core.conditions import Condition
from webapp.core.problems import Gone
from webapp.core.waiting import AT_WORK, EACH, InTurns, Revoked, _by_turns

LINE, COUNT = "x" * 1023 + "\n", 1000
PATIENCE = 60
pytestmark = pytest.mark.django_db(transaction=True)  # pieces close connections that other tests have left open


class Long:
    """An answer, and how much of it somebody has asked for so far."""

    made = 0

    def lines(self) -> Iterator[str]:
        for _ in range(COUNT):
            self.made += 1
            yield LINE


class Slow:
    """A view that is at work until it is let go, and the answers it has made."""

    def __init__(self) -> None:
        self.began, self.may_go = threading.Event(), threading.Event()
        self.made: list[FileResponse] = []

    def answer(self) -> FileResponse:
        self.began.set()
        self.may_go.wait(PATIENCE)
        self.made.append(FileResponse(Path(__file__).open("rb")))  # noqa: SIM115  the answer closes it
        return self.made[-1]


class Crowd:
    """Requests at work. None leaves before as many as may are in."""

    def __init__(self) -> None:
        self.full = threading.Barrier(AT_WORK)
        self.now = self.most = 0
        self.lock = threading.Lock()

    def work(self) -> None:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.full.wait(PATIENCE)
        with self.lock:
            self.now -= 1


inside = Crowd()
gate = threading.Event()
slow = Slow()
answers: list[Long] = []
held: list[BaseDatabaseWrapper] = []


def hold(request: HttpRequest) -> HttpResponse:
    inside.work()
    return HttpResponse("done")


def long(request: HttpRequest) -> StreamingHttpResponse:
    answers.append(Long())
    return StreamingHttpResponse(answers[-1].lines())


def file(request: HttpRequest) -> FileResponse:
    return slow.answer()


def broken(request: HttpRequest) -> StreamingHttpResponse:
    def lines() -> Iterator[str]:
        connection.ensure_connection()
        held.append(connections["default"])  # this thread's
        raise OSError("A file is gone.")
        yield LINE

    return StreamingHttpResponse(lines())


def wait_at_gate(request: HttpRequest) -> HttpResponse:
    gate.wait(PATIENCE)
    return HttpResponse("done")


urlpatterns = [
    path("gate/", wait_at_gate),
    path("done/", lambda request: HttpResponse("done")),
    path("hold/", hold),
    path("long/", long),
    path("file/", file),
    path("broken/", broken),
]


@pytest.fixture
def server(settings) -> InTurns:
    """All that stands between the network and a view, with views of these tests."""
    settings.ROOT_URLCONF, settings.ALLOWED_HOSTS = __name__, ["testserver"]
    answers.clear()
    return InTurns()


async def ask(server: InTurns, address: str, **headers: str) -> HttpResponse | StreamingHttpResponse:
    async with ThreadSensitiveContext():  # a thread for each request, as the server has
        return await server.get_response_async(RequestFactory().get(address, headers=headers))


def test_so_many_are_at_work_and_the_rest_waits(server):
    async def crowd() -> list[int]:
        answers = await asyncio.gather(*(ask(server, "/hold/") for _ in range(AT_WORK * 3)))
        return [answer.status_code for answer in answers]

    assert asyncio.run(crowd()) == [200] * AT_WORK * 3
    assert inside.most == AT_WORK


def test_who_reads_slowly_keeps_no_turn_from_others(server):
    async def read() -> list[bytes]:
        slow = [aiter(await ask(server, "/long/")) for _ in range(2 * AT_WORK)]
        for pieces in slow:
            await anext(pieces)
        return [piece async for piece in await ask(server, "/long/")]

    pieces = asyncio.run(asyncio.wait_for(read(), PATIENCE))
    assert len(pieces) > 10 and b"".join(pieces) == LINE.encode() * COUNT
    assert [one.made < COUNT for one in answers] == [True] * 2 * AT_WORK + [False]


def test_a_long_answer_is_cut_off_once_the_right_to_it_has_ended(server, monkeypatch):
    """Pieces made before the end of the right are sent; then the connection breaks, so the answer does not look
    complete."""
    monkeypatch.setattr(conditions, "CHECK_EVERY", 0.01)
    answers.append(Long())
    is_over, was_checked = threading.Event(), threading.Event()

    def holding(keys: Iterable[object]) -> set[object]:
        if not is_over.is_set():
            return set(keys)
        was_checked.set()
        return set()

    right = Condition(holding, "anything", Gone("It was revoked."))

    async def read() -> None:
        pieces = _by_turns(iter(line.encode() for line in answers[0].lines()), server._slots, (right,))
        with pytest.raises(Revoked, match="It was revoked"):
            async for _ in pieces:
                is_over.set()
                await asyncio.to_thread(was_checked.wait, PATIENCE)

    asyncio.run(asyncio.wait_for(read(), PATIENCE))
    assert is_over.is_set() and answers[0].made < COUNT


def test_a_long_answer_that_breaks_off_keeps_no_connection(server):
    async def read() -> None:
        with pytest.raises(OSError, match="A file is gone"):
            await anext(aiter(await ask(server, "/broken/")))

    asyncio.run(read())
    assert [one.connection for one in held] == [None]


def test_the_answer_of_a_client_that_went_away_is_closed(server):
    async def go_away() -> None:
        asking = asyncio.create_task(ask(server, "/file/"))
        await asyncio.to_thread(slow.began.wait, PATIENCE)
        asking.cancel()
        await asyncio.sleep(0)  # the cancellation arrives before the answer is made
        slow.may_go.set()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(asyncio.wait_for(go_away(), PATIENCE))
    assert [answer.closed for answer in slow.made] == [True]


def test_nobody_takes_all_turns(server):
    gate.clear()

    async def crowd() -> None:
        busy = [asyncio.create_task(ask(server, "/gate/", Authorization="Bearer mine")) for _ in range(2 * AT_WORK)]
        for _ in range(AT_WORK - EACH):  # these are answered while all of mine wait
            assert (await ask(server, "/done/", Authorization="Bearer other")).status_code == 200
        assert not any(task.done() for task in busy)
        gate.set()
        assert {answer.status_code for answer in await asyncio.gather(*busy)} == {200}

    asyncio.run(asyncio.wait_for(crowd(), PATIENCE))
