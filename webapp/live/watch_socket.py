"""Socket of a page: read-only, fed by a watch of its own and by readings that it shares with others.

It subscribes to those before it reads for the first time, so it misses nothing. Cursors, not timing, keep it from
sending anything twice. The conditions that let it in are checked as long as it is open (`core.conditions`).
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from urllib.parse import parse_qs

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.core.exceptions import ObjectDoesNotExist
from django.utils import timezone

from webapp.accounts import actor as actors
from webapp.accounts.actor import Actor
from webapp.accounts.standing import conditions_of
from webapp.comparisons.frames import Frame
from webapp.core.conditions import Conditions, first_broken, guarded
from webapp.core.nudges import within
from webapp.core.problems import NotFound, NotSignedIn, Problem, TooMany
from webapp.core.subscriptions import SMALLEST_GAP, NewsSource, subscribed
from webapp.live import tickets
from webapp.live.following import MOST_FOLLOWED, Unreadable, read_follow
from webapp.live.job_watch import JobWatch
from webapp.live.origin import is_ours
from webapp.live.watch import Watch

logger = logging.getLogger("drafthouse.live")
HEARTBEAT = 15.0
PATIENCE = 10.0  # until the first message

FOREIGN = (4003, "This page is not ours, so it may not open this socket.")
NOT_SIGNED_IN, NOT_FOUND = 4001, 4004
UNREADABLE = (4008, "That message cannot be read.")
ALL_SENT = 1000
BROKEN = (1011, "Drafthouse failed to answer. Open the socket again in a moment.")


class WatchSocket(AsyncWebsocketConsumer):
    """Base of all sockets of pages. A subclass says what it watches and who may."""

    what = ""  # a noun for sentences: comparison, job
    takes_tickets = True
    channel_layer_alias = "none"  # subscriptions listen for all sockets; a channel for each would only cost

    async def connect(self) -> None:
        self.began = asyncio.get_running_loop().time()
        self.sending: asyncio.Task[None] | None = None
        self.ending: asyncio.Task[None] | None = None
        self.stirred = asyncio.Event()
        self.inbox: list[Frame] = []
        self.show: Callable[[Frame], Frame] = lambda frame: frame
        self.ticket = self._ticket()
        await self.accept()
        if self._is_foreign():
            return await self.close(*FOREIGN)
        if problem := await database_sync_to_async(self._admit, thread_sensitive=False)():
            return await self.close(*_ending(problem))
        self.watch = self.fresh_watch()
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
        if len(self.watch.cursors) + len(after) > MOST_FOLLOWED:
            return await self.close(UNREADABLE[0], f"At most {MOST_FOLLOWED} samples can be followed at once.")
        self.watch.follow(after, since)
        self.stirred.set()

    def deliver(self, frames: list[Frame]) -> None:
        if frames:
            self.inbox += frames
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
            for source in _sources(self.fresh_watch()):
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
            frames = await self._fresh()
            if not frames and clock() - heard >= HEARTBEAT:
                frames = [{"t": "heartbeat"}]
            if frames:
                heard = clock()
                await self.send(written([self.show(frame) for frame in frames]))
            if self.watch.is_over:
                return await self.close(ALL_SENT, f"The {self.what} is over and all of it was told.")
            await asyncio.sleep(SMALLEST_GAP)
            await within(max(0.0, heard + HEARTBEAT - clock()), self.stirred)

    async def _fresh(self) -> list[Frame]:
        """Sift the shared frames. Where one leaves a gap, drop them all and read the database: they are older than that
        reading. Sifting them too would mark their rows as sent, and nobody would then send their traces."""
        brought, self.inbox = self.inbox, []
        frames = [] if self.watch.must_read else self.watch.sift(brought)
        if self.watch.must_read:
            frames += await database_sync_to_async(self.watch.news, thread_sensitive=False)()
        return frames

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


class SharedFrame(Frame):
    """A frame for many readers, turned into JSON once."""

    @cached_property
    def text(self) -> str:
        return json.dumps(self, separators=(",", ":"))


def written(frames: Sequence[Frame]) -> str:
    """Write frames as one message of a socket."""
    texts = (frame if isinstance(frame, SharedFrame) else SharedFrame(frame) for frame in frames)
    return f"[{','.join(frame.text for frame in texts)}]"


def _sources(watch: Watch | JobWatch) -> list[NewsSource]:
    """Readings from now on, for all sockets that watch the same."""
    watch.since = timezone.now()

    def shared(read: Callable[[], list[Frame]]) -> list[Frame]:
        return [SharedFrame(frame) for frame in read()]

    group = watch.group
    return [NewsSource(f"{name} {group}", group, partial(shared, read)) for name, read in watch.readings().items()]


def _ending(problem: Problem) -> tuple[int, str]:
    """Close code and sentence for this reason."""
    if isinstance(problem, TooMany):
        return BROKEN[0], problem.detail  # a browser tries again
    return NOT_SIGNED_IN if isinstance(problem, NotSignedIn) else NOT_FOUND, problem.detail
