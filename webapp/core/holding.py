"""Long polls. A request that waits for news holds no thread, no turn and no connection to the database.

A view looks once. If nothing is new it returns a `Held`, which says how to look again and what to wait for. The server
awaits that (`core.waiting`), and looks again when the source gives another value.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.http import HttpRequest, HttpResponse
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from webapp.core.conditions import Conditions, first_broken, guarded
from webapp.core.news import NewsSource, subscribed, within
from webapp.core.problems import Busy, NotFound, Problem, TooMany
from webapp.core.proxies import address_of
from webapp.core.refusals import problem_json

MOST = 1000  # requests that wait at once in this process
MOST_EACH = 100  # per token, person or link
MOST_BY_ADDRESS = 200
COME_BACK = 5  # s, for requests above these limits

Look = Callable[[], tuple[Any, bool]]  # the body of the answer, and whether anything in it is new
InTurn = Callable[[Callable[[], Any]], Awaitable[Any]]  # runs code that reads the database


@dataclass(frozen=True, slots=True)
class Waiting:
    look: Look
    source: NewsSource  # gives another value after every change
    seconds: int
    who: str
    conditions: Conditions


class Held(HttpResponse):
    """A complete answer without news. The server may hold it back until there is some."""

    def __init__(self, body: Any, waiting: Waiting, seen: Any) -> None:
        super().__init__(JSONRenderer().render(body), content_type="application/json")
        self.waiting, self.seen = waiting, seen
        self.when_answered: Callable[[int], None] = lambda status: None  # gets the status that is sent in the end


def answer(waiting: Waiting) -> HttpResponse:
    """Answer at once if there is news or the client does not wait; else return an answer to hold."""
    seen = waiting.source.read() if waiting.seconds else None  # before the look: what comes between is a change
    body, is_new = waiting.look()
    return Response(body) if is_new or not waiting.seconds else Held(body, waiting, seen)


async def hold(request: HttpRequest, held: Held, in_turn: InTurn) -> HttpResponse:
    """Wait for news and put it into the answer. When the time is over, send the answer as it was made."""
    try:
        with _room.seat(held.waiting.who, address_of(request)):
            found = await _news(held, in_turn)
    except Problem as problem:
        found = problem
    if isinstance(found, Problem):
        _refuse(held, found)
    elif found is not None:
        held.content = JSONRenderer().render(found)
    held["Content-Length"] = str(len(held.content))
    held.when_answered(held.status_code)
    return held


async def _news(held: Held, in_turn: InTurn) -> Any:
    """Return the new body, or the Problem that ends the wait; None if nothing came in time."""
    clock, waiting = asyncio.get_running_loop().time, held.waiting
    deadline = clock() + waiting.seconds
    stirred = asyncio.Event()

    def deliver(value: Any) -> None:
        if value != held.seen:
            held.seen = value
            stirred.set()

    with guarded(waiting.conditions, lambda _: stirred.set()), subscribed(waiting.source, deliver):
        while (left := deadline - clock()) > 0:
            await within(left, stirred)
            if stirred.is_set():
                stirred.clear()
                found, is_new = await in_turn(lambda: _look(waiting))
                if is_new:
                    return found
    return None


def _look(waiting: Waiting) -> tuple[Any, bool]:
    """Look again, if the conditions still hold."""
    if problem := first_broken(waiting.conditions):
        return problem, True
    try:
        return waiting.look()
    except ObjectDoesNotExist:
        return NotFound("It was deleted meanwhile."), True


def _refuse(held: Held, problem: Problem) -> None:
    name = held.get("X-Request-ID", "")
    refusal = problem_json(problem.status, problem.code, problem.detail, problem.hint, name)
    held.status_code, held.content = refusal.status_code, refusal.content
    held["Content-Type"] = refusal["Content-Type"]
    for name, value in problem.headers.items():
        held[name] = value


class _Room:
    """Count of waiting requests, in all, for each actor and at each address."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()

    @contextmanager
    def seat(self, who: str, address: str) -> Iterator[None]:
        whose = {"": MOST, f"who {who}": MOST_EACH, f"at {address}": MOST_BY_ADDRESS}
        for name, most in whose.items():
            if self.taken[name] >= most:
                raise _too_many(bool(name), most)
        self.taken.update(whose.keys())
        try:
            yield
        finally:
            self.taken.subtract(whose.keys())
            self.taken = +self.taken


def _too_many(is_own: bool, most: int) -> Problem:
    if is_own:
        detail = f"{most} of your requests wait for news already, which is the most."
        return TooMany(detail, hint="Wait for one of them, or ask without `wait`.", retry_after=COME_BACK)
    detail = f"{most} requests wait for news already, which is the most this server holds."
    return Busy(detail, hint="Ask without `wait`, or in a moment.", retry_after=COME_BACK)


_room = _Room()
