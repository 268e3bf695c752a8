"""Socket of a page: read-only. It answers each message with a reading of its own, and passes on the readings that all
sockets of the page share.

It subscribes to those before it reads for the first time, so it misses nothing. What both bring arrives twice. Events
have numbers: the page leaves out those that it has, and asks from its cursor where one is missing (`feed.js`). The
conditions that let it in are checked as long as it is open (`core.conditions`).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from urllib.parse import parse_qs

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from webapp.accounts import actor as actors
from webapp.accounts.actor import Actor
from webapp.accounts.standing import conditions_of
from webapp.comparisons.frames import Frame
from webapp.core.conditions import Conditions, first_broken, guarded
from webapp.core.news import SMALLEST_GAP, NewsSource, subscribed, within
from webapp.core.problems import NotFound, NotSignedIn, Problem, TooMany
from webapp.live import tickets
from webapp.live.following import MOST_FOLLOWED, Unreadable, read_follow
from webapp.live.job_watch import JobWatch
from webapp.live.watch import Watch

Message = tuple[str, bool]  # a message, empty if there is no news; and whether it is the last

logger = logging.getLogger("drafthouse.live")
HEARTBEAT = 15.0
PATIENCE = 10.0  # until the first message

FOREIGN = (4003, "This page is not ours, so it may not open this socket.")
NOT_SIGNED_IN, NOT_FOUND = 4001, 4004
UNREADABLE = (4008, "That message cannot be read.")
ALL_SENT = 1000
BROKEN = (1011, "Drafthouse failed to answer. Open the socket again in a moment.")


def is_ours(headers: Mapping[bytes, bytes], scheme: str) -> bool:
    """Tell whether a page of ours asks. `scheme` is the socket's: a page that came without TLS may not open one with
    it, because anybody on the way can have written that page."""
    origin = headers.get(b"origin", b"").decode("latin-1")
    host = headers.get(b"host", b"").decode("latin-1")
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    if not host or not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
        return False
    return origin in (f"https://{host}", *([] if scheme == "wss" else [f"http://{host}"]))


class WatchSocket(AsyncWebsocketConsumer):
    """Base of all sockets of pages. A subclass says what it watches and who may."""

    what = ""  # a noun for sentences: comparison, job
    audience = "team"  # readers who are shown frames alike
    takes_tickets = True
    channel_layer_alias = "none"  # subscriptions listen for all sockets; a channel for each would only cost

    async def connect(self) -> None:
        self.began = asyncio.get_running_loop().time()
        self.sending: asyncio.Task[None] | None = None
        self.ending: asyncio.Task[None] | None = None
        self.stirred = asyncio.Event()
        self.inbox: list[Message] = []
        self.asked: Watch | JobWatch | None = None  # the reading that is due
        self.show: Callable[[Frame], Frame] = lambda frame: frame
        self.ticket = self._ticket()
        await self.accept()
        if self._is_foreign():
            return await self.close(*FOREIGN)
        if problem := await database_sync_to_async(self._admit, thread_sensitive=False)():
            return await self.close(*_ending(problem))
        self.asked = self.fresh_watch()
        self.sending = asyncio.create_task(self._serve())

    async def disconnect(self, code: int) -> None:
        took_s = asyncio.get_running_loop().time() - self.began
        logger.info("socket of a %s closed with %s after %.0f s", self.what, code, took_s)
        if self.sending:
            self.sending.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not self.sending:
            return
        try:
            since, after = read_follow(text_data)
        except Unreadable as error:
            return await self.close(UNREADABLE[0], f"{UNREADABLE[1]} {error}")
        self.asked = self.asked or self._watch_from_now()
        self.asked.follow(after, since)
        if len(self.asked.cursors) > MOST_FOLLOWED:  # by many messages
            return await self.close(*UNREADABLE)
        self.stirred.set()

    def deliver(self, message: Message) -> None:
        if message[0]:
            self.inbox.append(message)
            self.stirred.set()

    def end(self, problem: Problem) -> None:
        """Send nothing more, not even the rest of a message that the client reads slowly."""
        if self.ending is None:
            self.ending = asyncio.create_task(self._end(problem))

    async def _end(self, problem: Problem) -> None:
        if self.sending:
            self.sending.cancel()
            await asyncio.wait({self.sending})
        await self.close(*_ending(problem))

    async def _serve(self) -> None:
        with guarded(self.conditions, self.end), ExitStack() as stack:
            await within(PATIENCE, self.stirred)  # the first message says from where
            for source in self._sources():
                stack.enter_context(subscribed(source, self.deliver))
            try:
                await self._send_all()
            except ObjectDoesNotExist:
                await self.close(*_ending(self.not_found))
            except Exception:
                logger.exception("a socket cannot be told more")
                await self.close(*BROKEN)

    async def _send_all(self) -> None:
        clock = asyncio.get_running_loop().time
        heard = clock()
        while True:
            self.stirred.clear()
            brought, self.inbox = self.inbox, []
            if self.asked:
                watch, self.asked = self.asked, None
                read = database_sync_to_async(_read, thread_sensitive=False)
                brought = [await read(watch.news, self.show), *brought]
            if not brought and clock() - heard >= HEARTBEAT:
                brought = [(written([{"t": "heartbeat"}]), False)]
            for text, is_over in brought:
                if text:
                    heard = clock()
                    await self.send(text)
                if is_over:
                    return await self.close(ALL_SENT, f"The {self.what} is over and all of it was told.")
            await asyncio.sleep(SMALLEST_GAP)
            await within(max(0.0, heard + HEARTBEAT - clock()), self.stirred)

    def _watch_from_now(self) -> Watch | JobWatch:
        watch = self.fresh_watch()
        watch.since = timezone.now()
        return watch

    def _sources(self) -> list[NewsSource]:
        """Readings from now on, for all sockets that show the same."""
        watch = self._watch_from_now()
        return [
            NewsSource(f"{name} {watch.group} {self.audience}", watch.group, partial(_read, read, self.show))
            for name, read in watch.readings().items()
        ]

    def _ticket(self) -> str:
        query = parse_qs(self.scope["query_string"].decode("latin-1"))
        return query.get("ticket", [""])[0] if self.takes_tickets else ""

    def _is_foreign(self) -> bool:
        """Refuse foreign pages. A browser names the page that opens a socket; a program with a ticket need not."""
        headers = dict(self.scope["headers"])
        is_program = bool(self.ticket) and not headers.get(b"origin")
        return not is_program and not is_ours(headers, self.scope.get("scheme", "ws"))

    def _admit(self) -> Problem | None:
        """Find the conditions on which this socket may be open; return the reason if it may not."""
        try:
            self.conditions = self.admitted()
        except Problem as problem:
            return problem
        return first_broken(self.conditions)

    def admitted(self) -> Conditions:
        actor, conditions = tickets.redeem(self.ticket) if self.ticket else self._signed_in()
        return (*conditions, *self.conditions_for(actor))

    def _signed_in(self) -> tuple[Actor, Conditions]:
        user, session = self.scope.get("user"), self.scope.get("session")
        if user is None or not user.is_authenticated:
            raise NotSignedIn("Nobody is signed in here.")
        actor = actors.of_user(user)
        return actor, conditions_of(actor, session.session_key)

    def conditions_for(self, actor: Actor) -> Conditions:
        """Conditions on which this actor may watch; raise Problem if there are none."""
        raise NotImplementedError

    def fresh_watch(self) -> Watch | JobWatch:
        raise NotImplementedError

    @property
    def not_found(self) -> NotFound:
        return NotFound(f"There is no {self.what} with this id, or you may not see it.")


def _read(read: Callable[[], list[Frame]], show: Callable[[Frame], Frame]) -> Message:
    frames = read()
    is_over = bool(frames) and frames[-1]["t"] == "finished"
    return written(map(show, frames)) if frames else "", is_over


def written(frames: Iterable[Frame]) -> str:
    """Write frames as one message of a socket."""
    return json.dumps([*frames], separators=(",", ":"))


def _ending(problem: Problem) -> tuple[int, str]:
    """Close code and sentence for this reason."""
    if isinstance(problem, TooMany):
        return BROKEN[0], problem.detail  # a browser tries again
    return NOT_SIGNED_IN if isinstance(problem, NotSignedIn) else NOT_FOUND, problem.detail
