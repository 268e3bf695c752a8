"""One reading for many: each is told of it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest
import redis
from asgiref.sync import sync_to_async
from channels.layers import channel_layers

from tests.kit.live import run
from webapp.core import news
from webapp.core.news import NewsSource, announce, subscribed, within


def test_who_waits_can_be_cancelled_in_the_moment_in_which_something_comes():
    async def story() -> bool:
        event = asyncio.Event()
        waiting = asyncio.create_task(within(60, event))
        await asyncio.sleep(0)
        event.set()
        waiting.cancel()
        await asyncio.wait({waiting})
        return waiting.cancelled()

    assert asyncio.run(story())


class Reader:
    """Somebody who follows a source."""

    def __init__(self) -> None:
        self.found: list[int] = []
        self.told = asyncio.Event()

    def deliver(self, found: int) -> None:
        self.found.append(found)
        self.told.set()

    async def reach(self, count: int) -> None:
        while len(self.found) < count:
            self.told.clear()
            await self.told.wait()


@pytest.fixture
def counted(monkeypatch) -> Callable[..., NewsSource]:
    """Make a source that counts its readings. Nothing but announcements and newcomers brings another."""
    monkeypatch.setattr(news, "LOOK_AGAIN", 3600)
    numbers = itertools.count(1)

    def read(fails_at: int) -> Any:
        number = next(numbers)
        if number == fails_at:
            raise RuntimeError("This reading fails.")
        return number

    return lambda fails_at=0: NewsSource("counted", "counted", lambda: read(fails_at))


@pytest.mark.django_db(transaction=True)
def test_all_who_follow_a_source_share_its_readings_and_a_newcomer_brings_one(counted):
    many, late = [Reader() for _ in range(50)], Reader()

    async def story() -> None:
        with ExitStack() as all_of_them:
            for reader in many:
                all_of_them.enter_context(subscribed(counted(), reader.deliver))
            await many[0].reach(1)
            await sync_to_async(announce)("counted")
            await many[0].reach(2)
            with subscribed(counted(), late.deliver):
                await late.reach(1)
        with subscribed(counted(), late.deliver):  # the others are gone, and their subscription with them
            await late.reach(len(late.found) + 1)

    run(story())
    assert len(many[0].found) < 10
    assert all(reader.found == many[0].found for reader in many)
    assert late.found[0] in many[0].found and late.found[-1] not in many[0].found


@pytest.mark.django_db(transaction=True)
def test_a_reading_that_fails_ends_nothing(counted, caplog):
    reader = Reader()

    async def story() -> None:
        with subscribed(counted(fails_at=2), reader.deliver):
            await reader.reach(1)
            while reader.found == [1]:
                await sync_to_async(announce)("counted")

    run(story())
    assert reader.found[:2] == [1, 3]
    assert "cannot read counted (This reading fails.)" in caplog.text


@pytest.mark.django_db(transaction=True)
def test_a_silent_channel_layer_is_told_of_once_and_its_return_too(settings, valkey, caplog):
    caplog.set_level("INFO", "drafthouse.news")
    there = settings.CHANNEL_LAYERS
    nowhere = {"default": {**there["default"], "CONFIG": {"hosts": ["unix:///nowhere/at/all"]}}}
    for layers, times in ((nowhere, 3), (there, 2), (nowhere, 2)):
        settings.CHANNEL_LAYERS = layers
        channel_layers.backends.clear()
        for _ in range(times):
            announce("somebody")
    told = [record.getMessage() for record in caplog.records if record.name == "drafthouse.news"]
    assert ["does not answer" in line for line in told] == [True, False, True]
    assert told[1].startswith("the channel layer answers again, after")


@pytest.mark.django_db(transaction=True)
def test_who_follows_joins_a_group_until_nobody_does_and_looks_alone_without_a_channel_layer(
    settings, valkey, counted, caplog
):
    def groups() -> list[bytes]:
        with redis.Redis.from_url(valkey) as there:
            return there.pubsub_channels("*counted*")

    async def story(*, has_layer: bool) -> None:
        with subscribed(counted(), (reader := Reader()).deliver):
            await reader.reach(1)
            while has_layer and not groups():
                await asyncio.sleep(0)
        while groups():
            await asyncio.sleep(0)

    run(story(has_layer=True))
    assert "look on their own" not in caplog.text
    settings.CHANNEL_LAYERS["default"]["CONFIG"]["hosts"] = ["unix:///nowhere/at/all"]
    channel_layers.backends.clear()
    run(story(has_layer=False))
    assert "watchers look on their own" in caplog.text
