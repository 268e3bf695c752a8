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

from webapp.accounts.authentication import team_of
from webapp.core import conditions
from webapp.core.conditions import Condition
from webapp.core.problems import Gone
from webapp.core.turns import EACH, LONG, LONG_EACH, is_long, takes_long
from webapp.core.waiting import AT_WORK, InTurns, Revoked, _by_turns

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


full = threading.Barrier(AT_WORK)
inside = threading.Semaphore(AT_WORK)
heavies = threading.Barrier(LONG + 1)  # with the test, which answers a short request first
heavy_inside = {team: threading.Semaphore(LONG_EACH) for team in "ab"}
began, gate = threading.Event(), threading.Event()
answers: list[Long] = []
files: list[FileResponse] = []
held: list[BaseDatabaseWrapper] = []


def hold(request: HttpRequest) -> HttpResponse:
    """Leave when as many as may are in; fail if one more is."""
    assert inside.acquire(blocking=False)
    full.wait(PATIENCE)
    inside.release()
    return HttpResponse("done")


def long(request: HttpRequest) -> StreamingHttpResponse:
    answers.append(Long())
    return StreamingHttpResponse(answers[-1].lines())


def wait_at_gate(request: HttpRequest) -> FileResponse:
    began.set()
    gate.wait(PATIENCE)
    files.append(FileResponse(Path(__file__).open("rb")))  # noqa: SIM115  the answer closes it
    return files[-1]


def broken(request: HttpRequest) -> StreamingHttpResponse:
    def lines() -> Iterator[str]:
        connection.ensure_connection()
        held.append(connections["default"])  # this thread's
        raise OSError("A file is gone.")
        yield LINE

    return StreamingHttpResponse(lines())


@takes_long("GET")
def heavy(request: HttpRequest) -> HttpResponse:
    team = heavy_inside[request.headers["Team"]]
    assert team.acquire(blocking=False)
    heavies.wait(PATIENCE)
    team.release()
    return HttpResponse("done")


urlpatterns = [
    path("gate/", wait_at_gate),
    path("done/", lambda request: HttpResponse("done")),
    path("heavy/", heavy),
    path("hold/", hold),
    path("long/", long),
    path("broken/", broken),
]


@pytest.fixture
def server(settings) -> InTurns:
    """All that stands between the network and a view, with views of these tests."""
    settings.ROOT_URLCONF, settings.ALLOWED_HOSTS = __name__, ["testserver"]
    for each in (answers, files, held):
        each.clear()
    gate.clear()
    return InTurns()


async def ask(server: InTurns, address: str, **headers: str) -> HttpResponse | StreamingHttpResponse:
    async with ThreadSensitiveContext():  # a thread for each request, as the server has
        return await server.get_response_async(RequestFactory().get(address, headers=headers))


def test_so_many_are_at_work_and_the_rest_waits(server):
    async def crowd() -> set[int]:
        asked = await asyncio.gather(*(ask(server, "/hold/") for _ in range(AT_WORK * 3)))
        return {answer.status_code for answer in asked}

    assert asyncio.run(crowd()) == {200}


def test_nobody_takes_all_turns(server):
    async def crowd() -> None:
        busy = [asyncio.create_task(ask(server, "/gate/", Authorization="Bearer mine")) for _ in range(2 * AT_WORK)]
        for _ in range(AT_WORK - EACH):  # these are answered while all of mine wait
            assert (await ask(server, "/done/", Authorization="Bearer other")).status_code == 200
        assert not any(task.done() for task in busy)
        gate.set()
        for answer in await asyncio.gather(*busy):
            answer.close()

    asyncio.run(asyncio.wait_for(crowd(), PATIENCE))


def test_long_requests_leave_turns_to_short_ones_and_to_other_teams(server):
    server = InTurns(lambda request: request.headers["Team"])

    async def crowd() -> None:
        asked = [asyncio.create_task(ask(server, "/heavy/", Team=team)) for team in "ab" for _ in range(2 * AT_WORK)]
        for _ in range(len(asked) // LONG):
            assert (await ask(server, "/done/")).status_code == 200
            await asyncio.to_thread(heavies.wait, PATIENCE)
        assert {answer.status_code for answer in await asyncio.gather(*asked)} == {200}

    asyncio.run(asyncio.wait_for(crowd(), PATIENCE))


@pytest.mark.parametrize("thing", ["datasets", "models", "pairs", "classifiers"])
def test_requests_and_pages_that_parse_files_are_long(thing):
    previews = {"datasets": ["preview/"], "pairs": ["check/"]}.get(thing, [])
    for address in (f"/{thing}/new/", *(f"/api/v1/{thing}/{more}" for more in ("", *previews))):
        assert is_long(RequestFactory().post(address)) and not is_long(RequestFactory().get(address))


def test_long_requests_are_counted_by_team(world):
    factory, bob = RequestFactory(), world.page(world.bob)
    world.script()
    with_token = factory.get("/", headers={"Authorization": f"Bearer {world.tokens['admin']}"})
    with_session = factory.get("/")
    with_session.COOKIES = {name: cookie.value for name, cookie in bob.cookies.items()}
    wrong = factory.get("/", headers={"Authorization": "Bearer dh_wrong.token"}, REMOTE_ADDR="192.0.2.7")
    assert team_of(with_token) == team_of(with_session) == str(world.team.pk)
    assert team_of(wrong) == team_of(factory.get("/", REMOTE_ADDR="192.0.2.7"))


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
    made = Long()
    is_over, was_checked = threading.Event(), threading.Event()

    def holding(keys: Iterable[object]) -> set[object]:
        if not is_over.is_set():
            return set(keys)
        was_checked.set()
        return set()

    right = Condition(holding, "anything", Gone("It was revoked."))

    async def read() -> None:
        pieces = _by_turns(iter(line.encode() for line in made.lines()), server._slots, (right,))
        with pytest.raises(Revoked, match="It was revoked"):
            async for _ in pieces:
                is_over.set()
                await asyncio.to_thread(was_checked.wait, PATIENCE)

    asyncio.run(asyncio.wait_for(read(), PATIENCE))
    assert is_over.is_set() and made.made < COUNT


def test_an_answer_that_breaks_off_or_whose_client_went_away_keeps_nothing_open(server):
    async def break_off() -> None:
        with pytest.raises(OSError, match="A file is gone"):
            await anext(aiter(await ask(server, "/broken/")))

    async def go_away() -> None:
        began.clear()
        asking = asyncio.create_task(ask(server, "/gate/"))
        await asyncio.to_thread(began.wait, PATIENCE)
        asking.cancel()
        await asyncio.sleep(0)  # the cancellation arrives before the answer is made
        gate.set()
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(break_off())
    assert [one.connection for one in held] == [None]
    asyncio.run(asyncio.wait_for(go_away(), PATIENCE))
    assert [answer.closed for answer in files] == [True]
