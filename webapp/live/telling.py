"""The socket of a page: read-only, told by a watch of its own and by the relay it shares with others.

It joins the relay before it reads for the first time, so nothing falls between; what both bring is told once, because
the cursor says so and not the timing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from urllib.parse import parse_qs

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.core.exceptions import ObjectDoesNotExist

from webapp.accounts import actor as actors
from webapp.accounts.actor import Actor
from webapp.live import relay, tickets
from webapp.live.following import MOST_FOLLOWED, Unreadable, read_follow
from webapp.live.origin import is_ours
from webapp.live.relay import Watching, within, written
from webapp.live.watch import Frame

HEARTBEAT = 15.0
PATIENCE = 10.0  # until the first message

NOT_SIGNED_IN = (4001, "Nobody is signed in here, or the ticket was used before.")
FOREIGN = (4003, "This page is not ours, so it may not use the session.")
NOT_FOUND = 4004
UNREADABLE = (4008, "That message cannot be read.")
ALL_TOLD = 1000


class Teller(AsyncWebsocketConsumer):
    """What all sockets of pages have in common. Whose page it is says the subclass."""

    what = ""  # it tells of, in sentences
    channel_layer_alias = "none"  # the relay listens for all; a channel for each socket would only cost

    async def connect(self) -> None:
        self.telling: asyncio.Task[None] | None = None
        self.stirred = asyncio.Event()
        self.inbox: list[Frame] = []
        self.show: Callable[[Frame], Frame] = lambda frame: frame
        await self.accept()
        refusal = await self._refusal()
        if refusal:
            return await self.close(*refusal)
        self.watch = self.fresh_watch()
        self.telling = asyncio.create_task(self._tell())

    async def disconnect(self, code: int) -> None:
        if self.telling:
            self.telling.cancel()

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not self.telling:
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
        self.inbox += frames
        self.stirred.set()

    async def _tell(self) -> None:
        await within(PATIENCE, self.stirred)  # the first message says from where
        joined = await relay.join(self.fresh_watch(), self.deliver)
        try:
            await self._tell_all()
        except ObjectDoesNotExist:
            await self.close(*self.not_found)
        finally:
            relay.leave(joined, self.deliver)

    async def _tell_all(self) -> None:
        clock = asyncio.get_running_loop().time
        heard = checked = clock()
        while True:
            self.stirred.clear()
            frames = await self._fresh()
            if not frames and clock() - heard >= HEARTBEAT:
                frames = [{"t": "heartbeat"}]
            if clock() - checked >= HEARTBEAT:
                checked = clock()
                if refusal := await self._refusal_by_now():
                    return await self.close(*refusal)
            if frames:
                heard = clock()
                await self.send(written([self.show(frame) for frame in frames]))
            if self.watch.is_over:
                return await self.close(ALL_TOLD, f"The {self.what} is over and all of it was told.")
            await asyncio.sleep(relay.SMALLEST_GAP)
            await within(max(0.0, heard + HEARTBEAT - clock()), self.stirred)

    async def _fresh(self) -> list[Frame]:
        """What the relay brought and this watcher has not heard; read anew when the relay cannot know it. Then what it
        brought is older than what is read: rows taken from it would pass for told, and their traces never follow."""
        brought, self.inbox = self.inbox, []
        frames = [] if self.watch.must_read else self.watch.sift(brought)
        if self.watch.must_read:
            frames += await database_sync_to_async(self.watch.news, thread_sensitive=False)()
        return frames

    async def _refusal_by_now(self) -> tuple[int, str] | None:
        """Whoever was signed out or left the team while watching, or whose link was revoked."""
        if "ticket=" in self.scope["query_string"].decode("latin-1"):
            return None
        return await database_sync_to_async(self._refused_actor, thread_sensitive=False)("")

    async def _refusal(self) -> tuple[int, str] | None:
        ticket = parse_qs(self.scope["query_string"].decode("latin-1")).get("ticket", [""])[0]
        if not ticket and not is_ours(dict(self.scope["headers"])):
            return FOREIGN
        return await database_sync_to_async(self._refused_actor, thread_sensitive=False)(ticket)

    def _refused_actor(self, ticket: str) -> tuple[int, str] | None:
        actor = tickets.redeem(ticket) if ticket else self._actor_of_session()
        return NOT_SIGNED_IN if actor is None else self.refusal_of(actor)

    def refusal_of(self, actor: Actor) -> tuple[int, str] | None:
        """Why this actor may not watch."""
        raise NotImplementedError

    def fresh_watch(self) -> Watching:
        raise NotImplementedError

    @property
    def not_found(self) -> tuple[int, str]:
        return NOT_FOUND, f"There is no such {self.what} that you may see."

    def _actor_of_session(self) -> Actor | None:
        user, session = self.scope.get("user"), self.scope.get("session")
        if user is None or not user.is_authenticated or not session.exists(session.session_key):
            return None
        return actors.of_user(user)
