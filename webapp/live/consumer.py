"""The socket of a comparison's page: read-only, told by a Watch of its own and by the board it shares with others.

It joins the board before it reads for the first time, so nothing falls between; what both bring is told once, because
the cursor says so and not the timing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import datetime
from urllib.parse import parse_qs
from uuid import UUID

from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils.dateparse import parse_datetime

from webapp.accounts import actor as actors
from webapp.accounts.actor import Actor
from webapp.comparisons.models import Comparison
from webapp.core.problems import Gone
from webapp.live import board, tickets
from webapp.live.board import within
from webapp.live.origin import is_ours
from webapp.live.redaction import shown_by
from webapp.live.watch import Frame, Watch
from webapp.sharing import services as sharing

HEARTBEAT = 15.0
PATIENCE = 10.0  # until the first message
LONGEST_MESSAGE = 64 * 1024
MOST_FOLLOWED = 500

NOT_SIGNED_IN = (4001, "Nobody is signed in here, or the ticket was used before.")
FOREIGN = (4003, "This page is not ours, so it may not use the session.")
NOT_FOUND = (4004, "There is no such comparison that you may see.")
UNREADABLE = (4008, "That message cannot be read.")
ALL_TOLD = (1000, "The comparison is over and all of it was told.")


class Unreadable(ValueError):
    """What a client sent; the sentence says what is wrong with it."""


class ComparisonConsumer(AsyncWebsocketConsumer):
    channel_layer_alias = "none"  # the board listens for all; a channel for each socket would only cost

    async def connect(self) -> None:
        self.telling: asyncio.Task[None] | None = None
        self.stirred = asyncio.Event()
        self.inbox: list[Frame] = []
        self.show: Callable[[Frame], Frame] = lambda frame: frame
        await self.accept()
        refusal = await self._refusal()
        if refusal:
            return await self.close(*refusal)
        self.watch = Watch(self.comparison)
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
        self.watch.since = since or self.watch.since
        self.watch.follow(after)
        self.stirred.set()

    def deliver(self, frames: list[Frame]) -> None:
        self.inbox += frames
        self.stirred.set()

    async def _tell(self) -> None:
        await within(PATIENCE, self.stirred)  # the first message says from where
        joined = await board.join(self.watch.comparison, self.deliver)
        try:
            await self._tell_all()
        except Comparison.DoesNotExist:
            await self.close(*NOT_FOUND)
        finally:
            board.leave(joined, self.deliver)

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
                await self.send(json.dumps([self.show(frame) for frame in frames], separators=(",", ":")))
            if self.watch.is_over:
                return await self.close(*ALL_TOLD)
            await asyncio.sleep(board.SMALLEST_GAP)
            await within(max(0.0, heard + HEARTBEAT - clock()), self.stirred)

    async def _fresh(self) -> list[Frame]:
        """What the board brought and this watcher has not heard; read anew when the board cannot know it."""
        frames, self.inbox = self.watch.sift(self.inbox), []
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
        if secret := self.scope["url_route"]["kwargs"].get("secret"):
            return self._refused_stranger(secret)
        actor = tickets.redeem(ticket) if ticket else self._actor_of_session()
        if actor is None:
            return NOT_SIGNED_IN
        self.comparison = self.scope["url_route"]["kwargs"]["pk"]
        return None if Comparison.objects.visible_to(actor).filter(pk=self.comparison).exists() else NOT_FOUND

    def _refused_stranger(self, secret: str) -> tuple[int, str] | None:
        try:
            share = sharing.find(secret)
        except Gone as problem:
            return NOT_FOUND[0], problem.detail
        self.comparison, self.show = share.comparison_id, shown_by(share.hides_texts)
        return None

    def _actor_of_session(self) -> Actor | None:
        user, session = self.scope.get("user"), self.scope.get("session")
        if user is None or not user.is_authenticated or not session.exists(session.session_key):
            return None
        return actors.of_user(user)


def read_follow(text: str | None) -> tuple[datetime | None, dict[UUID, int]]:
    """`{"t": "follow", "since": …, "after": {sample: seq}}`, the only thing a client may say."""
    if text is None or len(text) > LONGEST_MESSAGE:
        raise Unreadable(f"It must be text of at most {LONGEST_MESSAGE} characters.")
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("It is not JSON.") from None
    if not isinstance(message, dict) or message.get("t") != "follow":
        raise Unreadable('It must be {"t": "follow", …}.')
    return read_since(message.get("since") or ""), read_cursors(message.get("after") or {})


def read_since(text: object) -> datetime | None:
    if text == "":
        return None
    try:
        moment = parse_datetime(text) if isinstance(text, str) else None
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or not 1970 < moment.year < 9000:
        raise Unreadable("`since` must be a moment with its time zone, as a samples frame gave it.")
    return moment


def read_cursors(after: object) -> dict[UUID, int]:
    if not isinstance(after, dict):
        raise Unreadable("`after` must say for each sample the last seq that you have.")
    cursors = {}
    for sample, seq in after.items():
        try:
            pk = UUID(sample)
        except ValueError:
            raise Unreadable("`after` names a sample that is no id.") from None
        if isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq < 2**31:
            raise Unreadable("A seq must be a whole number, not negative.")
        cursors[pk] = seq
    return cursors
